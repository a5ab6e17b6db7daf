/**
 * Changes of an index of codes since it was last written as a whole, in files that follow it: change 3 is removed-3.npy, the ids
 * that go, and codes-3.npy, ids-3.npy and so on, the vectors that come after that.
 */
import { type Matrix, matrix } from '../core/matrix.ts'
import type { CodeArrays } from './code-folder.ts'
import type { FolderKind, SavedFolder } from './folder-load.ts'
import type { FolderContents } from './folder-save.ts'
import { badArray, listFile, matrixFile, savedMatrix, savedNumbers } from './saved-arrays.ts'
import { type Checked, list, record, whole, wrongValue } from './schema.ts'
import type { SavedFile } from './sealed-json.ts'

/** Marks the end of lists that devices return, so it is no id. */
export const NO_ID = 0xffffffff

const count = whole(0, 2 ** 32 - 1)
/** Changes in their order: number, ids that are removed, vectors that are added. */
export const changeList = list(record({ number: whole(1, 999_999), removed: count, added: count }))

type ChangeFacts = Checked<typeof changeList>[number]

/** The vectors that a change adds, and the ids that it removes before. */
export interface ChangeArrays {
  readonly number: number
  readonly removed: Uint32Array
  readonly codes: Matrix
  readonly ids: Uint32Array
  readonly lists?: Uint32Array | undefined
  readonly bytes?: Matrix | undefined
}

export function changeFacts({ number, removed, ids }: Pick<ChangeArrays, 'number' | 'removed' | 'ids'>): ChangeFacts {
  return { number, removed: removed.length, added: ids.length }
}

/** A save in which the files of `kept` stay as they are; `change` is written unless there is none. */
export function changedFolder(
  { name, version }: FolderKind,
  facts: object,
  kept: readonly SavedFile[],
  change: ChangeArrays | undefined,
): FolderContents {
  const files: Record<string, readonly Uint8Array[]> = {}
  if (change !== undefined) {
    const { number, removed, codes, ids, lists, bytes } = change
    if (removed.length > 0) files[`removed-${number}.npy`] = listFile(removed)
    if (ids.length > 0) {
      files[`codes-${number}.npy`] = matrixFile(codes)
      files[`ids-${number}.npy`] = listFile(ids)
      if (lists) files[`lists-${number}.npy`] = listFile(lists)
      if (bytes) files[`bytes-${number}.npy`] = matrixFile(bytes)
    }
  }
  return { json: 'model.json', format: `centroidal ${name}`, version, facts, files, kept }
}

/** The number of the change that a file belongs to. */
export function changeNumber(name: string): number | undefined {
  const [, number] = /^(?:removed|codes|ids|lists|bytes)-(\d{1,6})(?:\.npy)?$/.exec(name) ?? []
  return number === undefined ? undefined : Number(number)
}

/** `k` clusters and `cols` kept bytes, where there are any. */
interface Shape {
  readonly width: number
  readonly k?: number
  readonly cols?: number | undefined
}

export async function readChanges(
  saved: SavedFolder,
  changes: readonly ChangeFacts[],
  { width, k, cols }: Shape,
): Promise<ChangeArrays[]> {
  const read: ChangeArrays[] = []
  for (const { number, removed, added } of changes) {
    const numbers = async (of: string, length: number, limit: number): Promise<Uint32Array> =>
      length === 0 ? new Uint32Array(0) : savedNumbers(saved, `${of}-${number}`, { length, limit })
    const rows = async (of: string, wide: number): Promise<Matrix> =>
      added === 0
        ? matrix(new Uint8Array(0), 0, wide)
        : savedMatrix(saved, `${of}-${number}`, { rows: added, cols: wide, type: 'u8' })
    read.push({
      number,
      removed: await numbers('removed', removed, NO_ID),
      codes: await rows('codes', width),
      ids: await numbers('ids', added, NO_ID),
      lists: k === undefined ? undefined : await numbers('lists', added, k),
      bytes: cols === undefined ? undefined : await rows('bytes', cols),
    })
  }
  return read
}

/** What was written first, with all changes in their order. */
export function withChanges<T extends CodeArrays>(
  saved: SavedFolder,
  first: T,
  changes: readonly ChangeArrays[],
  size: number,
): T {
  const all = [first, ...changes]
  const rows = all.reduce((sum, { ids }) => sum + ids.length, 0)
  // Where an id is, in the order of all rows that were ever written.
  const places = new Map<number, number>()
  const gone = new Uint8Array(rows)
  let at = first.ids.length
  const changed = new Set(changes.flatMap(({ removed, ids }) => [...removed, ...ids]))
  first.ids.forEach((id, place) => {
    if (changed.has(id)) places.set(id, place)
  })
  for (const { number, removed, ids } of changes) {
    for (const id of removed) {
      const place = places.get(id)
      if (place === undefined) continue
      gone[place] = 1
      places.delete(id)
    }
    for (const id of ids) {
      if (places.has(id)) throw badArray(saved, `ids-${number}`, `holds ${id}, which is there already`)
      places.set(id, at++)
    }
  }
  const left = rows - gone.reduce((sum, each) => sum + each, 0)
  if (left !== size) throw wrongValue(`${saved.path}/model.json: size`, size, `that of the files, ${left},`)
  if (changes.length === 0) return first
  const joined = <T extends Uint8Array | Uint32Array>(out: T, width: number, parts: readonly (T | undefined)[]): T => {
    gather(out, width, parts, gone)
    return out
  }
  const numbers = (parts: readonly (Uint32Array | undefined)[]): Uint32Array => joined(new Uint32Array(left), 1, parts)
  const bytes = (parts: readonly (Matrix | undefined)[], cols: number): Matrix => {
    const out = new Uint8Array(left * cols)
    return matrix(joined(out, cols, parts.map((part) => part?.data as Uint8Array | undefined)), left, cols) // biome-ignore format: one thing
  }
  const { kept, codes, lists } = first
  return {
    ...first,
    codes: bytes([codes, ...changes.map((each) => each.codes)], codes.cols),
    ids: numbers(all.map(({ ids }) => ids)),
    ...(lists && { lists: numbers(all.map((each) => each.lists)) }),
    ...(kept && {
      kept: { ...kept, bytes: bytes([kept.bytes, ...changes.map((each) => each.bytes)], kept.bytes.cols) },
    }),
  }
}

/** Rows that are not gone, of several arrays. */
function gather(
  out: Uint8Array | Uint32Array,
  width: number,
  parts: readonly (Uint8Array | Uint32Array | undefined)[],
  gone: Uint8Array,
): void {
  let before = 0
  let to = 0
  for (const data of parts) {
    if (data === undefined) continue
    const rows = data.length / width
    for (let first = 0; first < rows; ) {
      let end = first
      while (end < rows && gone[before + end] === 0) end++
      out.set(data.subarray(first * width, end * width), to * width)
      to += end - first
      first = end + 1
    }
    before += rows
  }
}
