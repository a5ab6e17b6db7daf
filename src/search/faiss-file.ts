/**
 * The layout of files of faiss 1.7: a name of four letters, then fields one after the other, little-endian and without
 * padding. An index begins with a header: dimensions, vectors, two numbers without meaning, whether it is trained, metric.
 */
import { CentroidalError } from '../core/errors.ts'

/** Counts and numbers of vectors are 32-bit here. */
const LARGEST = 0xffffffff

/** As faiss numbers them. */
export const METRIC_INNER_PRODUCT = 0
export const METRIC_L2 = 1

/** Both numbers of the header without meaning. */
const DUMMY = 1 << 20

export interface FaissHeader {
  readonly cols: number
  readonly rows: number
  readonly inner: boolean
}

/** Writes fields one after the other. */
export class FaissWriter {
  readonly #parts: Uint8Array[] = []

  text(name: string): void {
    this.#parts.push(new TextEncoder().encode(name))
  }

  int32(value: number): void {
    this.#add(Int32Array.of(value))
  }

  int64(value: number): void {
    this.#add(BigInt64Array.of(BigInt(value)))
  }

  float(value: number): void {
    this.#add(Float32Array.of(value))
  }

  bool(value: boolean): void {
    this.#add(Uint8Array.of(value ? 1 : 0))
  }

  /** Its length, then its numbers. */
  vector(values: Float32Array | Uint8Array): void {
    this.int64(values.length)
    this.#add(values)
  }

  /** Numbers without their count. */
  bytes(values: Uint8Array): void {
    this.#add(values)
  }

  int64s(values: Uint32Array): void {
    const wide = new Uint32Array(2 * values.length)
    for (let i = 0; i < values.length; i++) wide[2 * i] = values[i]
    this.#add(wide)
  }

  header(name: string, { cols, rows, inner }: FaissHeader): void {
    this.text(name)
    this.int32(cols)
    this.int64(rows)
    this.int64(DUMMY)
    this.int64(DUMMY)
    this.bool(true)
    this.int32(inner ? METRIC_INNER_PRODUCT : METRIC_L2)
  }

  finished(): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(this.#parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of this.#parts) {
      out.set(part, at)
      at += part.length
    }
    return out
  }

  #add(values: ArrayBufferView): void {
    this.#parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  }
}

/** Reads fields one after the other; `name` is that of the file in errors. */
export class FaissReader {
  readonly name: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array, name: string) {
    this.name = name
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  wrong(what: string): CentroidalError {
    return new CentroidalError(
      'bad-file',
      `${JSON.stringify(this.name)} ${what}: write it again with faiss.write_index.`,
    )
  }

  text(): string {
    return String.fromCharCode(...this.take(4))
  }

  int32(): number {
    return this.#view.getInt32(this.#skip(4), true)
  }

  /** A count, or the number of a vector. */
  size(): number {
    const value = this.#view.getBigUint64(this.#skip(8), true)
    if (value <= BigInt(LARGEST)) return Number(value)
    throw this.wrong(`holds the number ${value}, more than can be read here`)
  }

  float(): number {
    return this.#view.getFloat32(this.#skip(4), true)
  }

  bool(): boolean {
    return this.byte() !== 0
  }

  byte(): number {
    return this.#bytes[this.#skip(1)]
  }

  /** Bytes as they lie in the file. */
  take(count: number): Uint8Array {
    const start = this.#skip(count)
    return this.#bytes.subarray(start, start + count)
  }

  /** So many numbers. */
  floats(count: number): Float32Array {
    return new Float32Array(this.take(4 * count).slice().buffer)
  }

  /** A count, then as many numbers, which have to be `wanted`, if that is known. */
  floatVector(wanted?: number): Float32Array {
    return this.floats(this.#counted(wanted))
  }

  byteVector(wanted?: number): Uint8Array {
    return this.take(this.#counted(wanted)).slice()
  }

  sizes(): number[] {
    const count = this.size()
    if (8 * count > this.#left()) throw this.#cut()
    return Array.from({ length: count }, () => this.size())
  }

  /** Numbers of vectors, which are 32-bit here. */
  ids(count: number): Uint32Array {
    const words = new Uint32Array(this.take(8 * count).slice().buffer)
    return Uint32Array.from({ length: count }, (_, i) => {
      if (words[2 * i + 1] !== 0 || words[2 * i] === 0xffffffff) {
        throw this.wrong('has an id that is negative or above 4294967294, and ids are 32-bit numbers here')
      }
      return words[2 * i]
    })
  }

  /** What follows the name of an index. */
  header(): FaissHeader {
    const cols = this.int32()
    const rows = this.size()
    this.take(16)
    this.bool()
    const metric = this.int32()
    if (metric !== METRIC_L2 && metric !== METRIC_INNER_PRODUCT) {
      throw this.wrong(`measures by metric ${metric} of faiss, and only L2 and inner products are read`)
    }
    if (cols < 1) throw this.wrong(`has ${cols} dimensions`)
    return { cols, rows, inner: metric === METRIC_INNER_PRODUCT }
  }

  /** Nothing may follow. */
  end(): void {
    if (this.#left() > 0) throw this.wrong(`goes on for ${this.#left()} bytes after its end`)
  }

  #counted(wanted: number | undefined): number {
    const count = this.size()
    if (wanted === undefined || count === wanted) return count
    throw this.wrong(`has ${count} numbers where ${wanted} belong`)
  }

  #left(): number {
    return this.#bytes.length - this.#at
  }

  #cut(): CentroidalError {
    return this.wrong(`ends at byte ${this.#bytes.length}, before its contents do`)
  }

  #skip(count: number): number {
    if (count > this.#left()) throw this.#cut()
    const start = this.#at
    this.#at += count
    return start
  }
}
