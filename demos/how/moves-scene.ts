/** Gains and moves of k-means#. */
import type { Matrix } from '../../src/index.ts'
import { voronoiCells } from '../playground/voronoi.ts'
import { clusterColours, cssColour } from '../shell/cluster-colours.ts'
import { showNumber } from '../shell/dom.ts'
import { Moves } from './moves.ts'
import type { Scene } from './scene.ts'
import type { MoveFacts } from './tasks.ts'

/** Clusters that lines are drawn to. */
const SHOWN = 3

export interface MovesScene extends Scene {
  /** Moves the point whose move gains most; its number, or undefined if nothing gains. */
  moveBest(): number | undefined
  back(): void
}

export function movesScene({ points, labels }: MoveFacts): MovesScene {
  const k = labels.reduce((most, label) => Math.max(most, label + 1), 0)
  const places = points.data as Float32Array
  let moves = start(points, labels, k)
  const lloyd = moves.objective
  let count = 0
  const fall = (): string => `${((100 * (moves.objective - lloyd)) / lloyd).toFixed(2)} %`

  return {
    points: places,
    first: moves.gaining()[0] ?? 0,
    draw(pen, _step, selected, { dark, ink, soft }) {
      const colours = clusterColours(k, dark)
      const { centers } = moves
      pen.context.globalAlpha = 0.18
      voronoiCells(centers).forEach((cell, i) => {
        pen.shape(cell, { fill: cssColour(colours, i) })
      })
      pen.context.globalAlpha = 1
      for (let cluster = 0; cluster < k; cluster++) {
        const members = [...moves.labels.keys()].filter((i) => moves.labels[i] === cluster)
        pen.dots(places, members, 4, cssColour(colours, cluster))
        pen.dots(centers, [cluster], 7, cssColour(colours, cluster))
        pen.ring(centers[2 * cluster], centers[2 * cluster + 1], 7, ink, 1.5)
      }
      for (const i of moves.gaining()) pen.ring(places[2 * i], places[2 * i + 1], 9, ink, 2)
      const [x, y] = [places[2 * selected], places[2 * selected + 1]]
      const own = moves.labels[selected]
      pen.line(x, y, centers[2 * own], centers[2 * own + 1], soft, 2)
      for (const { cluster, gain } of moves.gains(selected).slice(0, SHOWN)) {
        pen.line(x, y, centers[2 * cluster], centers[2 * cluster + 1], cssColour(colours, cluster), gain > 0 ? 4 : 1.5)
      }
      pen.dots(places, [selected], 6, ink)
    },
    readout(step, selected) {
      if (step === 'moves') {
        const left = moves.gaining().length
        const state = left === 0 ? 'No move gains any more.' : `${left} points have a move that gains.`
        return `${count} moves. Sum of squared distances ${showNumber(moves.objective)}, ${fall()} against Lloyd's result.\n${state}`
      }
      const [best] = moves.gains(selected)
      if (!best) return 'The only point of its cluster stays.'
      const sentence =
        best.gain > 0
          ? `Moving to cluster ${best.cluster} lowers the sum by ${showNumber(best.gain)}.`
          : `The best move, to cluster ${best.cluster}, would raise the sum by ${showNumber(-best.gain)}: it stays.`
      return `This point is in cluster ${moves.labels[selected]}. ${sentence}\nThe sum is ${showNumber(moves.objective)}.`
    },
    facts(selected) {
      const [best] = moves.gains(selected)
      return {
        label: String(moves.labels[selected]),
        best: String(best?.cluster),
        gain: String(best?.gain),
        objective: String(moves.objective),
        labels: moves.labels.join(),
      }
    },
    moveBest() {
      const [point] = moves.gaining()
      if (point === undefined) return undefined
      moves.move(point, moves.gains(point)[0].cluster)
      count++
      return point
    },
    back() {
      moves = start(points, labels, k)
      count = 0
    },
  }
}

function start(points: Matrix, labels: Uint32Array, k: number): Moves {
  return new Moves(points, labels, k)
}
