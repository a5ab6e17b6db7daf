/**
 * The devices of a run. Each has a state of its own with the same centres, and owns some of the points. The first device
 * leads: it does work that needs all points, and the others copy its centres.
 */
import { readRows, writeRows } from '../kernels/rows.ts'
import type { Domain } from '../vectors/layout.ts'
import type { NoteName, OwnerNotes, OwnerTasks, RemoteOwners, TaskName } from './remote-owners.ts'
import { type RunState, replaceCenters } from './run-state.ts'

export class Team {
  /** The first leads. */
  readonly states: RunState[] = []
  readonly #meetings = new Map<number, Meeting>()
  #failure: { readonly error: unknown } | undefined
  /** Other processes, where they own the points. The only device here then leads and owns none. */
  remote: RemoteOwners | undefined
  /** The centres here are not those that other processes have. */
  #unshared = false

  get lead(): RunState {
    return this.states[0]
  }

  get others(): readonly RunState[] {
    return this.states.slice(1)
  }

  /**
   * Runs the same work on every device at the same time. Waits for all, even if one fails, so that nothing runs after the
   * call. Throws the error of the device that failed first.
   */
  async everywhere<T>(work: (state: RunState, owner: number) => Promise<T>): Promise<T[]> {
    if (this.states.length === 1) return [await work(this.lead, 0)]
    this.#failure = undefined
    this.#meetings.clear()
    const settled = await Promise.allSettled(
      this.states.map(async (state, owner) => {
        try {
          return await work(state, owner)
        } catch (error) {
          this.#fail(error)
          throw error
        }
      }),
    )
    const failure = this.#failure as { readonly error: unknown } | undefined
    if (failure) throw failure.error
    return settled.map((result) => (result as PromiseFulfilledResult<T>).value)
  }

  /**
   * Within `everywhere`: each device that owns points of a domain brings a value; when the last one has come, `decide` gets
   * all of them in the order of the rows, once, and every device gets its answer.
   */
  meet<T, R>(domain: Domain, owner: number, value: T, decide: (values: readonly T[]) => R | Promise<R>): Promise<R> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    const meeting = this.#meetings.get(domain.index) ?? new Meeting(this.#ownersOf(domain))
    this.#meetings.set(domain.index, meeting)
    if (meeting.join(owner, value)) {
      this.#meetings.delete(domain.index)
      meeting.decide((values) => decide(values as readonly T[]))
    }
    return meeting.answer as Promise<R>
  }

  /** Asks the other processes, where there are any. */
  async ask<N extends TaskName>(name: N, args: OwnerTasks[N]['args']): Promise<readonly OwnerTasks[N]['result'][]> {
    if (this.remote === undefined) return []
    if (this.#unshared) await this.shareCenters()
    return this.remote.ask(name, args)
  }

  note<N extends NoteName>(name: N, note: OwnerNotes[N]): void {
    this.remote?.note(name, note)
  }

  /** The centres were put back on each device. */
  centersPutBack(): void {
    this.#unshared = this.remote !== undefined
  }

  /** The centres of the leading device, and how many there are, for all. */
  async shareCenters(): Promise<void> {
    if (this.states.length === 1 && this.remote === undefined) return
    this.#unshared = false
    const centers = await readRows(this.lead.device, this.lead.centers)
    this.note('centers', { centers, mixture: this.lead.mixture, labelled: this.lead.labelled })
    for (const state of this.others) {
      state.mixture = this.lead.mixture
      state.tree = this.lead.tree
      state.labelled = this.lead.labelled
      if (state.k === this.lead.k) writeRows(state.device, state.centers, centers)
      else replaceCenters(state, centers)
    }
  }

  free(): void {
    for (const { scope } of this.states) scope.free()
  }

  #ownersOf(domain: Domain): readonly number[] {
    return this.lead.points.parts.filter((part) => part.domain === domain).map(({ owner }) => owner)
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    for (const meeting of this.#meetings.values()) meeting.fail(error)
    this.#meetings.clear()
  }
}

class Meeting {
  readonly answer: Promise<unknown>
  readonly #owners: readonly number[]
  readonly #values = new Map<number, unknown>()
  #resolve: (answer: unknown) => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(owners: readonly number[]) {
    this.#owners = owners
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A device may fail while no other one has come yet.
    this.answer.catch(() => {})
  }

  /** True for the last one. */
  join(owner: number, value: unknown): boolean {
    this.#values.set(owner, value)
    return this.#values.size === this.#owners.length
  }

  decide(work: (values: readonly unknown[]) => unknown): void {
    const values = this.#owners.map((owner) => this.#values.get(owner))
    Promise.resolve()
      .then(() => work(values))
      .then(this.#resolve, this.#reject)
  }

  fail(error: unknown): void {
    this.#reject(error)
  }
}
