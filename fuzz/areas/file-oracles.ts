/**
 * Strict readers of our own, to judge what the library read. They return undefined where a file is not exactly as the
 * format says; the library may then refuse it or read it leniently.
 */
export interface Dense {
  readonly rows: number
  readonly cols: number
  readonly numbers: readonly number[]
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

const READERS: Readonly<Record<string, (view: DataView, at: number) => number>> = {
  '<f4': (view, at) => view.getFloat32(at, true),
  '<f8': (view, at) => view.getFloat64(at, true),
  '|u1': (view, at) => view.getUint8(at),
  '<i4': (view, at) => view.getInt32(at, true),
  '<u4': (view, at) => view.getUint32(at, true),
}

export function strictNpy(bytes: Uint8Array): Dense | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]
  if (bytes.length < 10 || magic.some((byte, i) => bytes[i] !== byte)) return undefined
  const start = 10 + view.getUint16(8, true)
  if (start > bytes.length) return undefined
  const text = Buffer.from(bytes.subarray(10, start)).toString('latin1')
  const found = /^\{'descr': '([^']{3})', 'fortran_order': False, 'shape': \((\d+), ?(\d*)\), \} *\n$/.exec(text)
  const read = found && Object.hasOwn(READERS, found[1]) ? READERS[found[1]] : undefined
  if (!found || !read) return undefined
  const rows = Number(found[2])
  const cols = found[3] === '' ? 1 : Number(found[3])
  const width = Number(found[1][2])
  if (cols === 0 || start + rows * cols * width !== bytes.length) return undefined
  return { rows, cols, numbers: Array.from({ length: rows * cols }, (_, i) => read(view, start + i * width)) }
}

export function strictVecs(bytes: Uint8Array, kind: string): Dense | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const width = kind === 'bvecs' ? 1 : 4
  if (bytes.length < 4) return undefined
  const cols = view.getInt32(0, true)
  const rowBytes = 4 + cols * width
  if (cols < 1 || bytes.length % rowBytes !== 0) return undefined
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; at += rowBytes) {
    if (view.getInt32(at, true) !== cols) return undefined
    for (let i = 0; i < cols; i++) {
      const place = at + 4 + i * width
      if (kind === 'bvecs') numbers.push(view.getUint8(place))
      else numbers.push(kind === 'fvecs' ? view.getFloat32(place, true) : view.getInt32(place, true))
    }
  }
  return { rows: bytes.length / rowBytes, cols, numbers }
}

export function strictText(bytes: Uint8Array, separator: string): Dense | undefined {
  const text = Buffer.from(bytes).toString('latin1')
  if (!/^[\x20-\x7e\t\n]*$/.test(text) || !text.endsWith('\n')) return undefined
  const lines = text.slice(0, -1).split('\n')
  const cells = lines.map((line) => line.split(separator))
  const cols = cells[0].length
  if (cells.some((row) => row.length !== cols || row.some((cell) => !NUMBER.test(cell)))) return undefined
  // A first line that counts is read as a header.
  if (cols > 1 && cells[0].every((cell, i) => cell === String(i))) return undefined
  return { rows: lines.length, cols, numbers: cells.flat().map(Number) }
}

export interface SparseRows {
  readonly rows: number
  readonly cols: number
  /** Column and value of each entry of a row. */
  readonly entries: readonly (readonly [number, number])[][]
}

/** CLUTO's sparse text, without repeated columns. */
export function strictCluto(bytes: Uint8Array): SparseRows | undefined {
  const text = Buffer.from(bytes).toString('latin1')
  if (!/^[\x20-\x7e\n]*\n$/.test(text)) return undefined
  const [head, ...lines] = text.slice(0, -1).split('\n')
  if (!/^\d+ \d+ \d+$/.test(head)) return undefined
  const [rows, cols, count] = head.split(' ').map(Number)
  if (lines.length !== rows || cols === 0) return undefined
  const entries = lines.map((line) => {
    const words = line === '' ? [] : line.split(' ')
    if (words.length % 2 !== 0 || words.some((word) => !NUMBER.test(word))) return undefined
    const numbers = words.map(Number)
    return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i] - 1, numbers[2 * i + 1]] as const)
  })
  if (entries.some((row) => row === undefined)) return undefined
  const kept = entries as (readonly [number, number])[][]
  const total = kept.reduce((sum, row) => sum + row.length, 0)
  const inOrder = kept.every((row) =>
    row.every(
      ([column], i) => Number.isInteger(column) && column >= 0 && column < cols && (i === 0 || column > row[i - 1][0]),
    ),
  )
  return total === count && inOrder ? { rows, cols, entries: kept } : undefined
}
