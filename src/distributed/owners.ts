/** Which workers own which groups of shards of a run, as seen by the coordinator, with the events that it reports. */
import { type ClusterEvent, kindsOf } from './cluster-events.ts'
import { surplusOf } from './surplus.ts'

export class Owners {
  readonly #groups: number
  readonly #onEvent: (event: ClusterEvent) => void
  readonly #owners = new Map<number, string>()
  readonly #workers = new Map<string, { name: string; device: string }>()
  /** Workers that asked for shards and own none, by name. */
  readonly #idle = new Map<string, string>()
  /** Workers that refused shards: none are taken from others for them. */
  readonly #unable = new Set<string>()
  #mixed = ''

  constructor(groups: number, onEvent: (event: ClusterEvent) => void) {
    this.#groups = groups
    this.#onEvent = onEvent
  }

  /** All that ever owned shards. */
  get workers(): readonly string[] {
    return [...this.#workers.keys()]
  }

  get complete(): boolean {
    return this.#owners.size === this.#groups
  }

  /** Groups without an owner. */
  get missing(): number[] {
    return Array.from({ length: this.#groups }, (_, group) => group).filter((group) => !this.#owners.has(group))
  }

  of(group: number): string | undefined {
    return this.#owners.get(group)
  }

  /** Groups of a worker except some. */
  besides(worker: string, groups: readonly number[]): number[] {
    return [...this.#owners].flatMap(([group, own]) => (own === worker && !groups.includes(group) ? [group] : []))
  }

  knows(worker: string): boolean {
    return this.#workers.has(worker)
  }

  hasAny(worker: string): boolean {
    return [...this.#owners.values()].includes(worker)
  }

  set(worker: string, groups: readonly number[], name: string, device: string): void {
    this.#idle.delete(worker)
    this.#workers.set(worker, { name, device })
    for (const group of groups) this.#owners.set(group, worker)
    this.tell()
    this.#tellMixed()
  }

  delete(group: number): void {
    this.#owners.delete(group)
  }

  /** It asked for shards, and all are taken. */
  setIdle(worker: string, name: string): void {
    if (!this.#unable.has(worker) && !this.hasAny(worker)) this.#idle.set(worker, name)
  }

  notIdle(worker: string): void {
    this.#idle.delete(worker)
  }

  setUnable(worker: string): void {
    this.#unable.add(worker)
  }

  /** Those that are idle, by name; afterwards none is. */
  takeIdle(): string[] {
    const idle = [...this.#idle.values()]
    this.#idle.clear()
    return idle
  }

  /** Groups to take from their owners for those that are idle. */
  surplus(isMovable: (group: number) => boolean): ReadonlyMap<string, readonly number[]> {
    if (!this.complete) return new Map()
    const movable = [...this.#byWorker()].map(([worker, groups]) => ({ worker, groups: groups.filter(isMovable) }))
    return surplusOf(movable, this.#idle.size)
  }

  tell(): void {
    const workers = [...this.#byWorker()].map(([worker, own]) => {
      const { name, device } = this.#workers.get(worker) ?? { name: worker, device: '' }
      return { worker, name, device, groups: own.sort((a, b) => a - b) }
    })
    workers.sort((a, b) => (a.name < b.name ? -1 : 1))
    this.#onEvent({ kind: 'workers', workers, total: this.#groups })
  }

  /** Once for each set of devices. */
  #tellMixed(): void {
    const owners = new Set(this.#owners.values())
    const all = kindsOf([...owners].map((worker) => this.#workers.get(worker)?.device ?? ''))
    if (all.length < 2 || this.#mixed === all.join()) return
    this.#mixed = all.join()
    this.#onEvent({ kind: 'mixed', devices: all })
  }

  #byWorker(): Map<string, number[]> {
    const groups = new Map<string, number[]>()
    for (const [group, worker] of this.#owners) groups.set(worker, [...(groups.get(worker) ?? []), group])
    return groups
  }
}
