/**
 * A process that owns some shards of a run, and does for them what the leading process asks: the tasks and notes of
 * remote-owners.ts. Its state follows from the run's description and from what it was asked and told, in that order.
 */
import type { VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { writeRows } from '../kernels/rows.ts'
import type { ResumeArrays } from '../models/resume-arrays.ts'
import { PointStore } from '../vectors/points.ts'
import { approach, roomForCenters } from './distance-sampler.ts'
import { chooseAndTake, retreatAndTake } from './loop.ts'
import { type Member, takeByLabels } from './members.ts'
import { assignNearest } from './mixture/count-step.ts'
import type { PartialSums } from './partial.ts'
import { METHODS } from './presets.ts'
import { ownFarthest, relabel } from './refill.ts'
import type {
  NoteName,
  OwnerNotes,
  OwnerTasks,
  RowValues,
  RunDescription,
  SumsKind,
  TaskName,
} from './remote-owners.ts'
import { measureOwn } from './resolution.ts'
import { changedState, createRunState, replaceCenters } from './run-state.ts'
import { Team } from './team.ts'
import { meanUpdate } from './updates/mean.ts'
import { measureOwnPoints } from './updates/move.ts'

type Tasks = { readonly [N in TaskName]: (args: OwnerTasks[N]['args']) => Promise<OwnerTasks[N]['result']> }
type Notes = { readonly [N in NoteName]: (note: OwnerNotes[N]) => void | Promise<void> }

export interface ShardOwnerOptions {
  /** Shards of the layout. */
  readonly owned: ReadonlySet<number>
  /** Stops the task under way; labels are then those from before it. */
  readonly signal?: () => AbortSignal | undefined
  readonly onProgress?: ((share: number) => void) | undefined
}

export class ShardOwner {
  readonly #points: PointStore
  readonly #team: Team
  readonly #member: Member
  readonly #tasks: Tasks
  readonly #notes: Notes
  /** A round was done that can be undone. */
  #chosen = false

  static async open(
    device: Device,
    source: VectorSource,
    run: RunDescription,
    options: ShardOwnerOptions,
  ): Promise<ShardOwner> {
    const { frame, layout } = run
    const points = await PointStore.open(device, source, { frame, layout, owned: options.owned })
    try {
      return new ShardOwner(points, run, options)
    } catch (error) {
      points.free()
      throw error
    }
  }

  private constructor(points: PointStore, run: RunDescription, { signal, onProgress }: ShardOwnerOptions) {
    const { method, k, most, settings, seed, totalWeight, weightScale, evidence, largest } = run
    const control = {
      get signal() {
        return signal?.()
      },
      onProgress,
    }
    const setting = { settings, seed, totalWeight, weightScale, evidence, largest, weights: undefined, control }
    this.#points = points
    this.#team = new Team()
    const state = createRunState(this.#team, points, 0, k, setting, most)
    this.#member = { state, candidates: METHODS[method].candidates(state), update: METHODS[method].update(state) }
    this.#tasks = this.#makeTasks()
    this.#notes = this.#makeNotes()
  }

  perform<N extends TaskName>(name: N, args: OwnerTasks[N]['args']): Promise<OwnerTasks[N]['result']> {
    return this.#tasks[name](args)
  }

  async note<N extends NoteName>(name: N, note: OwnerNotes[N]): Promise<void> {
    await this.#notes[name](note)
  }

  /** The state of the shards between rounds, where labels and what the candidates learned are all of it. */
  async keep(): Promise<{ readonly labels: readonly RowValues<Uint32Array>[]; readonly saved: ResumeArrays }> {
    const { state, candidates } = this.#member
    return { labels: await this.#tasks.labels({}), saved: (await candidates.save?.(state)) ?? {} }
  }

  free(): void {
    this.#team.free()
    this.#points.free()
  }

  #makeTasks(): Tasks {
    const member = this.#member
    const { state, update } = member
    const { points, parts } = state
    const read = async <T>(values: (part: (typeof parts)[number]) => Promise<T>): Promise<RowValues<T>[]> =>
      Promise.all(parts.map(async (part) => ({ first: part.first, values: await values(part) })))
    return {
      choose: async ({ iteration }) => {
        for (const part of parts) part.swapLabels()
        try {
          const statistics = await chooseAndTake(member, iteration)
          const sums = await update.partial(state)
          this.#chosen = true
          return { round: await statistics(), sums }
        } catch (error) {
          for (const part of parts) part.swapLabels()
          throw error
        }
      },
      take: async ({ kind }) => ({ sums: await this.#take(kind) }),
      retreat: async () => {
        const squares = await retreatAndTake(member)
        return { squares, sums: await update.partial(state) }
      },
      squares: () => measureOwn(state),
      measure: () => measureOwnPoints(state),
      nearest: async () => {
        await assignNearest(state)
        return null
      },
      approach: async ({ chosen, firstLabel }) => {
        const room = roomForCenters(state, chosen.length / points.cols)
        try {
          await approach(state, chosen, firstLabel, room)
        } finally {
          room.scope.free()
        }
        return null
      },
      farthest: ({ count }) => ownFarthest(state, count),
      labels: () => read((part) => points.labelsOf(part)),
      distances: () => read((part) => points.distancesOf(part)),
      lists: async () => (await update.remembered?.(state)) ?? [],
    }
  }

  #makeNotes(): Notes {
    const { state, update, candidates } = this.#member
    const { parts, device } = state
    return {
      centers: ({ centers, mixture, labelled }) => {
        state.mixture = mixture
        state.labelled = labelled
        if (centers.length === state.k * state.points.cols) writeRows(device, state.centers, centers)
        else replaceCenters(state, centers)
      },
      follow: ({ merged, news }) => update.follow?.(state, merged, news),
      endRound: async (round) => {
        this.#chosen = false
        state.labelled = true
        await candidates.endRound?.(round)
      },
      labels: async ({ labels }) => {
        if (labels === undefined) this.#points.forgetLabels()
        else await this.#points.writeLabels(labels)
      },
      relabel: (change) => relabel(this.#points, change),
      restore: ({ arrays }) => {
        candidates.restore?.(state, arrays)
        update.restore?.(state, arrays)
      },
      undo: () => {
        if (this.#chosen) for (const part of parts) part.swapLabels()
        this.#chosen = false
      },
    }
  }

  async #take(kind: SumsKind): Promise<PartialSums> {
    const { state } = this.#member
    if (kind === 'update') {
      await takeByLabels(this.#member)
      return this.#member.update.partial(state)
    }
    const scope = new BufferScope(state.device)
    try {
      const own = changedState(state, { scope })
      const update = meanUpdate(own, kind === 'means')
      await takeByLabels({ state: own, update })
      return await update.partial(own)
    } finally {
      scope.free()
    }
  }
}
