/** Several files as one set of vectors, one after the other. */
import { CentroidalError } from '../core/errors.ts'
import { sparseSource, type VectorData, type VectorSource } from '../core/matrix.ts'
import { type SparseMatrix, sparseMatrix } from '../core/sparse.ts'

/** All have the same columns. Names and 64-bit numbers are those of the files, where they have them. */
export function joinSources(sources: readonly VectorSource[]): VectorSource {
  const [first] = sources
  const other = sources.find(({ cols }) => cols !== first.cols)
  if (other) {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(other.name)} has ${other.cols} columns and ${JSON.stringify(first.name)} ${first.cols}: files that are read together must have the same number of columns.`,
    )
  }
  const name = `${first.name} and ${sources.length - 1} more`
  const notes = [...new Set(sources.flatMap(({ notes }) => notes ?? []))]
  const about = {
    ...(notes.length > 0 ? { notes } : {}),
    ...(sources.some(({ names }) => names) ? { names: () => joinedNames(sources) } : {}),
    close: async () => {
      for (const source of sources) await source.close?.()
    },
  }
  const sparse = sources.filter((source) => source.sparse)
  if (sparse.length === sources.length) {
    const all = joinSparse(
      sources.map((source) => source.sparse!),
      name,
    )
    return { ...sparseSource(all, name), ...about }
  }
  if (sparse.length > 0) {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(sparse[0].name)} is sparse and others are dense: files that are read together must be all sparse or all dense.`,
    )
  }
  const starts = [0]
  for (const { rows } of sources) starts.push(starts.at(-1)! + rows)
  const rows = starts.at(-1)!
  const { cols } = first
  const bytes = sources.every(({ type }) => type === 'u8')

  /** Reads the rows of each file that a range touches. */
  async function fill<Data extends { set(data: ArrayLike<number>, at: number): void }>(
    out: Data,
    start: number,
    end: number,
    read: (source: VectorSource, from: number, to: number) => Promise<ArrayLike<number>>,
  ): Promise<Data> {
    for (let i = 0; i < sources.length; i++) {
      const [from, to] = [Math.max(start, starts[i]), Math.min(end, starts[i + 1])]
      if (from < to) out.set(await read(sources[i], from - starts[i], to - starts[i]), (from - start) * cols)
    }
    return out
  }

  return {
    rows,
    cols,
    name,
    type: bytes ? 'u8' : 'f32',
    read: (start, end) => {
      const length = (end - start) * cols
      const out = bytes ? new Uint8Array(length) : new Float32Array(length)
      return fill(out, start, end, (source, from, to) => source.read(from, to))
    },
    ...(sources.every(({ readInto, type }) => readInto && type === first.type)
      ? {
          async readInto(start: number, into: VectorData) {
            const end = start + into.length / cols
            for (let i = 0; i < sources.length; i++) {
              const [from, to] = [Math.max(start, starts[i]), Math.min(end, starts[i + 1])]
              if (from >= to) continue
              await sources[i].readInto?.(from - starts[i], into.subarray((from - start) * cols, (to - start) * cols))
            }
          },
        }
      : {}),
    ...(sources.some(({ read64 }) => read64)
      ? {
          read64: (start: number, end: number) =>
            fill(new Float64Array((end - start) * cols), start, end, (source, from, to) =>
              source.read64 ? source.read64(from, to) : source.read(from, to),
            ),
        }
      : {}),
    ...about,
  }
}

async function joinedNames(sources: readonly VectorSource[]): Promise<string[]> {
  const names: string[] = []
  for (const source of sources) {
    const own = await source.names?.()
    for (let row = 0; row < source.rows; row++) names.push(own?.[row] ?? '')
  }
  return names
}

function joinSparse(parts: readonly SparseMatrix[], name: string): SparseMatrix {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0)
  const entries = parts.reduce((sum, part) => sum + part.values.length, 0)
  const offsets = new Uint32Array(rows + 1)
  const columns = new Uint32Array(entries)
  const values = new Float32Array(entries)
  let [row, at] = [0, 0]
  for (const part of parts) {
    for (let i = 0; i < part.rows; i++) offsets[++row] = at + part.offsets[i + 1]
    columns.set(part.columns, at)
    values.set(part.values, at)
    at += part.values.length
  }
  return sparseMatrix({ offsets, columns, values }, rows, parts[0].cols, name)
}
