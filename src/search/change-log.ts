/**
 * What has changed in an index since it was saved, so that the next save writes that alone. Every save of changes is a
 * segment: ids that are removed, then vectors that are added. Segments that are not much larger than the one that follows
 * become one with it, so that there are few of them and a vector is written again a logarithmic number of times; when all
 * segments together are half as large as what they change, everything is rewritten.
 */
import { type ChangeArrays, changedFolder, changeFacts, changeNumber } from '../data/code-changes.ts'
import type { FolderKind } from '../data/folder-load.ts'
import { type FolderContents, type SaveInPlace, saveOver } from '../data/folder-save.ts'
import type { SavedFile } from '../data/sealed-json.ts'

export interface Segment {
  readonly number: number
  readonly removed: Uint32Array
  /** Ids of the vectors that are added. */
  readonly ids: Uint32Array
}

/** A save of changes. */
export interface ChangePlan {
  readonly kept: readonly SavedFile[]
  /** Vectors in the files that all segments change. */
  readonly written: number
  /** Segments that stay, and the new one at the end, if anything has changed. */
  readonly segments: readonly Segment[]
  readonly fresh: Segment | undefined
}

interface Saved {
  readonly inPlace: SaveInPlace
  readonly written: number
  readonly segments: readonly Segment[]
}

/** Saves; calls `taken` when it takes the content of the index. */
type Saving = (taken: (written: number, segments: readonly Segment[]) => void) => Promise<SaveInPlace>

/** A segment takes in the one before it, if that is at most so many times as large. */
const MERGED = 2
/** All segments may have this share of the vectors that they change. */
const MOST_CHANGED = 0.5

export class ChangeLog {
  #saved: Saved | undefined
  /** Ids as they were added, and -1 - id as they were removed; undefined: too many, or nothing was saved yet. */
  #events: number[] | undefined
  #last: Promise<void> = Promise.resolve()

  added(ids: ArrayLike<number>): void {
    if (this.#events === undefined) return
    for (let i = 0; i < ids.length; i++) this.#events.push(ids[i])
    this.#limit()
  }

  removed(id: number): void {
    if (this.#events === undefined) return
    this.#events.push(-1 - id)
    this.#limit()
  }

  /** The index is as the folder holds it. */
  isSaved(inPlace: SaveInPlace | undefined, written: number, segments: readonly Segment[]): void {
    if (inPlace === undefined) return
    this.#saved = { inPlace, written, segments }
    this.#events = []
  }

  /** What to write over a save; undefined: everything. */
  plan(inPlace: SaveInPlace | undefined, has: (id: number) => boolean): ChangePlan | undefined {
    const saved = this.#saved
    if (saved === undefined || this.#events === undefined || inPlace?.seal !== saved.inPlace.seal) return undefined
    const segments = [...saved.segments]
    let { removed, ids } = netChange(this.#events)
    while (segments.length > 0 && removed.size + ids.size > 0) {
      const last = segments[segments.length - 1]
      if (sizeOf(last) > MERGED * (removed.size + ids.size)) break
      segments.pop()
      // What the earlier segment added was not there before it.
      const before = new Set(last.ids)
      const goes = new Set(last.removed)
      for (const id of removed) if (!before.has(id)) goes.add(id)
      removed = goes
      ids = new Set([...before, ...ids])
    }
    const alive = Uint32Array.from([...ids].filter(has))
    const changed = removed.size + alive.length > 0
    const number = 1 + saved.segments.reduce((most, each) => Math.max(most, each.number), 0)
    const fresh = changed ? { number, removed: Uint32Array.from(removed), ids: alive } : undefined
    const all = fresh ? [...segments, fresh] : segments
    if (all.reduce((sum, each) => sum + sizeOf(each), 0) > MOST_CHANGED * saved.written) return undefined
    const numbers = new Set(segments.map((each) => each.number))
    const kept = saved.inPlace.files.filter(({ name }) => {
      const of = changeNumber(name)
      return of === undefined || numbers.has(of)
    })
    return { kept, written: saved.written, segments: all, fresh }
  }

  /** Runs a save that writes the index as it is when `save` takes its content; changes that come later count for the next. */
  saving(save: Saving): Promise<void> {
    // One after the other: which changes are still to be saved follows from the order of the saves.
    const done = this.#last.then(() => this.#save(save))
    this.#last = done.catch(() => {})
    return done
  }

  async #save(save: Saving): Promise<void> {
    let known: Omit<Saved, 'inPlace'> | undefined
    let before: number[] | undefined
    try {
      const inPlace = await save((written, segments) => {
        known = { written, segments }
        before = this.#events
        this.#events = []
      })
      if (known) this.#saved = { inPlace, ...known }
    } catch (error) {
      // What was to be saved is still to be saved.
      if (known) this.#events = before && this.#events && before.concat(this.#events)
      throw error
    }
  }

  #limit(): void {
    if (this.#events && this.#events.length > 1024 + (this.#saved?.written ?? 0)) this.#events = undefined
  }
}

function sizeOf({ removed, ids }: Segment): number {
  return removed.length + ids.length
}

/** Ids that were there and went, and ids that came, whether they are still there or not. */
function netChange(events: readonly number[]): { removed: Set<number>; ids: Set<number> } {
  const seen = new Set<number>()
  const removed = new Set<number>()
  const ids = new Set<number>()
  for (const event of events) {
    const id = event < 0 ? -1 - event : event
    if (event < 0 && !seen.has(id)) removed.add(id)
    if (event >= 0) ids.add(id)
    seen.add(id)
  }
  return { removed, ids }
}

/** What of an index is saved. */
export interface SavedIndex {
  /** Everything, and how many vectors there are. */
  whole(): { readonly contents: FolderContents; readonly size: number }
  /** Of the JSON file. */
  facts(): object
  /** Some of the vectors. */
  rows(ids: ReadonlySet<number>): Omit<ChangeArrays, 'number' | 'removed'>
}

/** Saves what has changed where the folder holds what the log says, else everything. */
export function saveChanged(
  folder: string,
  kind: FolderKind,
  log: ChangeLog,
  has: (id: number) => boolean,
  index: SavedIndex,
): Promise<void> {
  return log.saving((taken) =>
    saveOver(folder, kind.json, (inPlace) => {
      const plan = log.plan(inPlace, has)
      if (plan === undefined) {
        const { contents, size } = index.whole()
        taken(size, [])
        return contents
      }
      const { kept, written, segments, fresh } = plan
      const change = fresh && { ...index.rows(new Set(fresh.ids)), number: fresh.number, removed: fresh.removed }
      const changes = segments.length > 0 ? { written, changes: segments.map(changeFacts) } : {}
      taken(written, segments)
      return changedFolder(kind, { ...index.facts(), ...changes }, kept, change)
    }),
  )
}
