/** Leaves, candidates and border points of the closure methods. */
import { leafHulls } from '../playground/leaf-hulls.ts'
import { voronoiCells } from '../playground/voronoi.ts'
import { clusterColours, cssColour } from '../shell/cluster-colours.ts'
import { showNumber } from '../shell/dom.ts'
import { Closures, type Neighborhood } from './candidates.ts'
import type { Pen } from './plane.ts'
import type { Scene } from './scene.ts'
import type { ClosureFacts } from './tasks.ts'

const TREE_COLOURS = ['#d9622b', '#2a6fdb', '#1f9d6b']

export function closuresScene({ points, labels, centers, trees, candidates }: ClosureFacts): Scene {
  const places = points.data as Float32Array
  const closures = new Closures(trees, labels)
  const cells = voronoiCells(centers.data as Float32Array)
  const everything = Array.from({ length: points.rows }, (_, i) => i)
  const border = closures.border()
  const strong = everything.filter((i) => border[i] === 1)
  const perTree = closures.measured()
  const leafSize = (leaf: Uint32Array, t: number): string => `tree ${t + 1}: ${leaf.length}`

  function drawLeaves(pen: Pen, { leaves }: Neighborhood): void {
    leaves.forEach((members, t) => {
      const [hull] = leafHulls(places, { members, offsets: Uint32Array.of(0, members.length) })
      pen.shape(hull, { stroke: TREE_COLOURS[t], width: 2.5 })
      pen.dots(places, members, 3.5, TREE_COLOURS[t])
    })
  }

  return {
    points: places,
    first: strong.find((i) => closures.of(i).candidates.length === 4) ?? 0,
    draw(pen, step, selected, { dark, ink, soft }) {
      const colours = clusterColours(centers.rows, dark)
      const found = closures.of(selected)
      const [x, y] = [places[2 * selected], places[2 * selected + 1]]
      if (step !== 'leaves') for (const cell of cells) pen.shape(cell, { stroke: soft, width: 0.5 })
      pen.context.globalAlpha = 0.45
      if (step === 'candidates') {
        for (const cluster of found.candidates) pen.shape(cells[cluster], { fill: cssColour(colours, cluster) })
      }
      pen.context.globalAlpha = step === 'border' ? 0.35 : 1
      pen.dots(places, everything, 1.4, step === 'border' ? soft : ink)
      pen.context.globalAlpha = 1
      if (step === 'border') pen.dots(places, strong, 2, TREE_COLOURS[0])
      if (step === 'leaves') drawLeaves(pen, found)
      if (step === 'candidates') {
        pen.dots(
          centers.data as Float32Array,
          Array.from({ length: centers.rows }, (_, i) => i),
          3,
          soft,
        )
        pen.dots(centers.data as Float32Array, found.candidates, 6, ink)
        for (const cluster of found.candidates) {
          pen.line(x, y, centers.data[2 * cluster], centers.data[2 * cluster + 1], ink)
        }
      }
      pen.dots(places, [selected], 5, ink)
      pen.ring(x, y, 8, ink)
    },
    readout(step, selected) {
      const { leaves, candidates: seen } = closures.of(selected)
      if (step === 'leaves') return `Points in its leaf, ${leaves.map(leafSize).join(', ')}.`
      if (step === 'candidates') {
        const noun = seen.length === 1 ? 'centre' : 'centres'
        return `${seen.length} of ${centers.rows} ${noun} evaluated for this point: clusters ${seen.join(', ')}.`
      }
      const own = seen.length > 1 ? `sees ${seen.length} clusters` : 'sees only its own cluster'
      return `${showNumber(strong.length)} of ${showNumber(points.rows)} points see another cluster. This one ${own}.\nThe library measured ${perTree.toFixed(2)} distances for each point in its last round, not ${centers.rows}.`
    },
    facts: (selected) => ({
      candidates: closures.of(selected).candidates.join(),
      measured: String(perTree),
      counted: String(candidates),
    }),
  }
}
