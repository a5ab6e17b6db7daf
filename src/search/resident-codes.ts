/** The codes of an index on a device, in parts; they follow the store. A search allocates room for its queries and results alone. */
import { type Matrix, matrix } from '../core/matrix.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import type { Codec } from '../quantize/codec.ts'
import { paddedCodes } from '../quantize/codes.ts'
import { type CodeDistance, cubeOf, type LoadedPart, Scanner } from '../quantize/flat-search.ts'
import { productCodec } from '../quantize/inner-products.ts'
import type { CodeStore } from './code-store.ts'

/** Most codes of a part: one that has become too small is replaced by a larger one, and the others stay. */
const PART_ROWS = 2 ** 20
/** Codes that are copied at a time. */
const PIECE = 65536

/** What tables measure: squared distances between vectors, bits that differ, or inner products. */
export type CodeMeasure = 'squares' | 'bits' | 'products'

export function measureOf(distance: CodeDistance): CodeMeasure {
  return distance === 'hamming' ? 'bits' : 'squares'
}

/** The codec whose tables measure that. The codes are the same. */
function codecFor(codec: Codec, measure: CodeMeasure): Codec {
  if (measure === 'squares') return codec
  return measure === 'bits' ? cubeOf(codec) : productCodec(codec)
}

interface Part extends LoadedPart {
  /** Rows there is room for. */
  readonly room: number
}

export class ResidentCodes {
  readonly #device: Device
  readonly #codec: Codec
  readonly #store: CodeStore
  readonly #partRows: number
  readonly #scanners = new Map<CodeMeasure, Scanner>()
  #parts: Part[] = []
  /** Rows of the copy, and changes that it has followed. */
  #rows = 0
  #cuts = 0

  constructor(device: Device, codec: Codec, store: CodeStore, partRows = PART_ROWS) {
    this.#device = device
    this.#codec = codec
    this.#store = store
    const fitting = Math.floor(device.info.limits.bindingBytes / this.scannerFor('squares').codeRowBytes)
    this.#partRows = Math.max(1, Math.min(partRows, fitting))
  }

  scannerFor(measure: CodeMeasure): Scanner {
    const known = this.#scanners.get(measure)
    if (known) return known
    const scanner = new Scanner(this.#device, codecFor(this.#codec, measure))
    this.#scanners.set(measure, scanner)
    return scanner
  }

  /** Brings the copy up to date. */
  follow(): readonly LoadedPart[] {
    const store = this.#store
    const { codes } = store
    const same = Math.min(this.#rows, codes.rows, store.firstMoved(this.#cuts))
    if (same === codes.rows && this.#rows === codes.rows) return this.#parts
    // Until everything is copied, the copy is valid only for the unchanged part.
    this.#rows = same
    this.#cuts = store.cuts
    const count = Math.ceil(codes.rows / this.#partRows)
    for (const { codes: buffer } of this.#parts.splice(count)) buffer.free()
    for (let number = Math.floor(same / this.#partRows); number < count; number++) {
      const start = number * this.#partRows
      const end = Math.min(codes.rows, start + this.#partRows)
      const { part, fresh } = this.#partWithRoom(number, start, end)
      const { codeRowBytes, shape } = this.scannerFor('squares')
      for (let first = fresh ? start : Math.max(start, same); first < end; first += PIECE) {
        const rows = paddedCodes(codes, shape, first, Math.min(end, first + PIECE))
        this.#device.write(part.codes, rows, (first - start) * codeRowBytes)
      }
    }
    this.#rows = codes.rows
    return this.#parts
  }

  #partWithRoom(number: number, start: number, end: number): { readonly part: Part; readonly fresh: boolean } {
    const known = this.#parts[number] as Part | undefined
    if (known && known.room >= end - start) {
      this.#parts[number] = { ...known, start, end }
      return { part: this.#parts[number], fresh: false }
    }
    known?.codes.free()
    this.#parts.splice(number, 1)
    this.#rows = Math.min(this.#rows, start)
    const grown = known === undefined ? 0 : Math.ceil(1.5 * known.room)
    const room = Math.min(this.#partRows, Math.max(end - start, grown))
    const bytes = Math.max(4, Math.ceil((room * this.scannerFor('squares').codeRowBytes) / 4) * 4)
    const codes: DeviceBuffer = this.#device.allocate(bytes, 'codes')
    this.#parts.splice(number, 0, { start, end, codes, room })
    return { part: this.#parts[number], fresh: true }
  }

  /** Some rows as parts of their own, one after the other, in memory that is used again for each. */
  async *partsOf(rows: Uint32Array): AsyncGenerator<{ readonly part: LoadedPart; readonly rows: Uint32Array }> {
    const { codes } = this.#store
    const { codeRowBytes, shape } = this.scannerFor('squares')
    const piece = Math.min(PIECE, this.#partRows, rows.length)
    const buffer = this.#device.allocate(
      Math.max(4, Math.ceil((piece * codeRowBytes) / 4) * 4),
      'codes that may be found',
    )
    try {
      for (let first = 0; first < rows.length; first += piece) {
        const own = rows.subarray(first, first + piece)
        this.#device.write(buffer, paddedCodes(rowsOf(codes, own), shape, 0, own.length))
        yield { part: { codes: buffer, start: 0, end: own.length }, rows: own }
      }
    } finally {
      buffer.free()
    }
  }

  free(): void {
    for (const { codes } of this.#parts.splice(0)) codes.free()
    this.#rows = 0
    for (const scanner of this.#scanners.values()) scanner.free()
    this.#scanners.clear()
  }
}

/** Some rows of a matrix of codes. */
export function rowsOf({ data, cols }: Matrix, rows: Uint32Array): Matrix {
  const out = new Uint8Array(rows.length * cols)
  rows.forEach((row, i) => {
    out.set((data as Uint8Array).subarray(row * cols, (row + 1) * cols), i * cols)
  })
  return matrix(out, rows.length, cols)
}
