/**
 * The picture of the front page: shapes of points, clustered round by round in the worker, one shape after another. For
 * people who want no motion it shows the end of the first run and stays like that.
 */
import type { Matrix } from '../../src/index.ts'
import type { ClusterRound } from '../engine/cluster-task.ts'
import type { Engine } from '../engine/engine.ts'
import { Stage } from '../playground/stage.ts'
import { onThemeChange } from '../shell/cluster-colours.ts'
import { wheelColours } from './colours.ts'
import { FRONT_SHAPES, shapePoints } from './shapes.ts'

const POINTS = 9000
const K = 60
const ROUNDS = 24
const GLIDE_MILLISECONDS = 420
const REST_MILLISECONDS = 3500

export class LivePicture {
  readonly #stage: Stage
  readonly #say: (text: string) => void
  #points: Matrix = shapePoints(FRONT_SHAPES[0], POINTS, 1)

  constructor(room: HTMLElement, say: (text: string) => void) {
    this.#say = say
    this.#stage = new Stage(room, wheelColours)
    this.#stage.setLayers({ cells: true, lit: false, leaves: false, circles: false })
    // Seen at once, before the worker has been loaded.
    this.#stage.setPoints(this.#points.data as Float32Array)
    onThemeChange(() => this.#stage.refresh())
  }

  async run(engine: Engine): Promise<void> {
    const still = matchMedia('(prefers-reduced-motion: reduce)')
    for (let turn = 0; ; turn++) {
      if (turn > 0) {
        this.#points = shapePoints(FRONT_SHAPES[turn % FRONT_SHAPES.length], POINTS, 1 + turn)
        this.#stage.setPoints(this.#points.data as Float32Array)
      }
      await this.#clusterOnce(engine, turn, still.matches)
      if (still.matches) return
      await new Promise((resolve) => setTimeout(resolve, REST_MILLISECONDS))
    }
  }

  async #clusterOnce(engine: Engine, seed: number, still: boolean): Promise<void> {
    let shown: Promise<void> = Promise.resolve()
    const run = engine.start(
      'cluster',
      {
        vectors: this.#points,
        options: { k: K, method: 'closures-sharp', start: 'random', seed, iterations: ROUNDS },
        look: true,
      },
      {
        onRound: (round) => {
          shown = this.#show(round, still).then(() => run.step(1))
        },
        onRestart: () => this.#stage.setLook(undefined),
      },
      { rounds: 1 },
    )
    const { facts } = await run.result
    await shown
    this.#say(`${POINTS.toLocaleString('en')} points, ${K} clusters, done in ${facts.iterations.length} rounds`)
  }

  #show({ stats, look }: ClusterRound, still: boolean): Promise<void> {
    this.#say(`${POINTS.toLocaleString('en')} points, ${K} clusters, round ${stats.iteration}`)
    this.#stage.setLook(look)
    return new Promise((resolve) => {
      const began = performance.now()
      const frame = (now: number): void => {
        const share = still ? 1 : Math.min(1, Math.max(0, now - began) / GLIDE_MILLISECONDS)
        // Slow at both ends.
        this.#stage.draw(share * share * (3 - 2 * share))
        if (share < 1) requestAnimationFrame(frame)
        else resolve()
      }
      requestAnimationFrame(frame)
    })
  }
}
