/** The codes of an index on a device, in parts; they follow the store. A search allocates room for its queries and results alone. */
import type { Device, DeviceBuffer } from '../device/contract.ts'
import type { Codec } from '../quantize/codec.ts'
import { paddedCodes } from '../quantize/codes.ts'
import { cubeOf, type LoadedPart, Scanner } from '../quantize/scan.ts'
import type { CodeStore } from './code-store.ts'

/** Most codes of a part: one that has become too small is replaced by a larger one, and the others stay. */
const PART_ROWS = 2 ** 20
/** Codes that are copied at a time. */
const PIECE = 65536

interface Part extends LoadedPart {
  /** Rows there is room for. */
  readonly room: number
}

export class ResidentCodes {
  readonly #device: Device
  readonly #codec: Codec
  readonly #store: CodeStore
  readonly #partRows: number
  #scanner: Scanner | undefined
  #cube: Scanner | undefined
  #parts: Part[] = []
  /** Rows of the copy, and changes that it has followed. */
  #rows = 0
  #cuts = 0

  constructor(device: Device, codec: Codec, store: CodeStore, partRows = PART_ROWS) {
    this.#device = device
    this.#codec = codec
    this.#store = store
    const fitting = Math.floor(device.info.limits.bindingBytes / this.scannerFor('asymmetric').codeRowBytes)
    this.#partRows = Math.max(1, Math.min(partRows, fitting))
  }

  /** Tables for a kind of distance. */
  scannerFor(distance: 'asymmetric' | 'symmetric' | 'hamming'): Scanner {
    if (distance !== 'hamming') {
      this.#scanner ??= new Scanner(this.#device, this.#codec)
      return this.#scanner
    }
    this.#cube ??= new Scanner(this.#device, cubeOf(this.#codec))
    return this.#cube
  }

  /** Brings the copy up to date. */
  follow(): readonly LoadedPart[] {
    const store = this.#store
    const { codes } = store
    const same = Math.min(this.#rows, codes.rows, store.firstMoved(this.#cuts))
    if (same === codes.rows && this.#rows === codes.rows) return this.#parts
    // Until all is copied, the copy is good for nothing behind what stayed the same.
    this.#rows = same
    this.#cuts = store.cuts
    const count = Math.ceil(codes.rows / this.#partRows)
    for (const { codes: buffer } of this.#parts.splice(count)) buffer.free()
    for (let number = Math.floor(same / this.#partRows); number < count; number++) {
      const start = number * this.#partRows
      const end = Math.min(codes.rows, start + this.#partRows)
      const { part, fresh } = this.#partWithRoom(number, start, end)
      const { codeRowBytes, shape } = this.scannerFor('asymmetric')
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
    const bytes = Math.max(4, Math.ceil((room * this.scannerFor('asymmetric').codeRowBytes) / 4) * 4)
    const codes: DeviceBuffer = this.#device.allocate(bytes, 'codes')
    this.#parts.splice(number, 0, { start, end, codes, room })
    return { part: this.#parts[number], fresh: true }
  }

  free(): void {
    for (const { codes } of this.#parts.splice(0)) codes.free()
    this.#rows = 0
    this.#scanner?.free()
    this.#cube?.free()
    this.#scanner = undefined
    this.#cube = undefined
  }
}
