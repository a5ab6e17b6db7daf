/**
 * Search among codes, flat: every code is compared with every query, by tables of distances.
 *
 * All distances are one: that of a point z to the codewords of a code. `asymmetric` (the paper's AQD; for bits its
 * asymmetric Hamming distance) takes the query itself for z. `symmetric` (SQD; for bits weighted
 * Hamming) takes what the query's own codes stand for. `hamming` counts the bits that differ, as
 * distances between corners of a cube. A byte of codes is one look-up, so single bits cost an eighth.
 */

import { choice, type OptionChecks, whole } from '../core/arguments.ts'
import { badOption } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { cutRows } from '../device/plan.ts'
import { bookStride, codeStride } from '../kernels/encode.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { codeLayout, mergeRanked, type ScanTask, scanCodes, tableBytes } from '../kernels/scan-codes.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import { type Codec, DeviceCodec } from './codec.ts'
import { paddedCodes, unpackCodes } from './codes.ts'
import { encodeVectors, leftOver, projectedPieces, wordsOf } from './encode.ts'
import {
  checkResults,
  finishDistances,
  MOST_RESULTS,
  padded,
  type RankedCodes,
  rankedBuffer,
  takeRanked,
} from './ranked.ts'

/**
 * How queries and codes are compared: the query itself with decoded codes (asymmetric), its decoded codes with decoded
 * codes (symmetric), or the number of differing bits (hamming).
 */
export type CodeDistance = 'asymmetric' | 'symmetric' | 'hamming'

/** All values, for programs that offer a choice. */
export const CODE_DISTANCES: readonly CodeDistance[] = ['asymmetric', 'symmetric', 'hamming']

/** Options of a search among codes. */
export interface CodeSearchOptions extends WorkOptions {
  /** Number of results per query. Default 10. */
  readonly nearest?: number | undefined
  /** The distance. Default `asymmetric`, the most accurate. `hamming` is for the bits of `ok` and `itq`. */
  readonly distance?: CodeDistance | undefined
}

export const SEARCH_CHECKS: OptionChecks<CodeSearchOptions> = {
  nearest: whole(1, MOST_RESULTS),
  distance: choice(CODE_DISTANCES),
  ...WORK_CHECKS,
}

/** Queries at a time: their lists and tables must fit. */
const MOST_QUERIES = 4096
/** Minimum number of codes of a task. */
const LEAST_CODES = { cpu: 16384, webgpu: 1024 }
/** Tasks that keep a device busy. */
const TASKS = { cpu: 48, webgpu: 4096 }

export async function searchCodes(
  device: Device,
  codec: Codec,
  codes: Matrix,
  source: VectorSource,
  options: CodeSearchOptions,
): Promise<RankedCodes> {
  const { signal, onProgress } = options
  const { nearest: asked = 10, distance = 'asymmetric' } = options
  checkResults(source.rows, asked)
  // A list longer than there are codes would cost time and stay empty at its end.
  const nearest = Math.max(1, Math.min(asked, codes.rows))
  const queries = await queryPoints(device, codec, source, distance, signal)
  const out = rankedBuffer(source.rows, nearest)
  if (codes.rows === 0) return padded(out, asked)
  const scanner = new Scanner(device, distance === 'hamming' ? cubeOf(codec) : codec)
  try {
    const parts = cutRows(codes.rows, Math.floor(device.info.limits.bindingBytes / scanner.codeRowBytes))
    for (const { start, end } of parts) {
      const loaded = scanner.load(paddedCodes(codes, scanner.shape, start, end))
      const report = (share: number): void => onProgress?.((start + (end - start) * share) / codes.rows)
      const part = { codes: loaded, start, end }
      await searchPart(scanner, part, queries.points, out, { signal, onProgress: onProgress && report })
    }
  } finally {
    scanner.free()
  }
  finishDistances(out, queries.rest, distance === 'hamming' ? 1 : codec.frame.scale)
  return padded(out, asked)
}

/** Codes on a device. */
export interface LoadedPart {
  readonly codes: DeviceBuffer
  /** Numbers of the first code, and of the one after the last. */
  readonly start: number
  readonly end: number
}

/** Adds the nearest of some codes to the lists of all queries. */
export async function searchPart(
  scanner: Scanner,
  { codes, start, end }: LoadedPart,
  points: Float32Array,
  out: RankedCodes,
  { signal, onProgress }: RunControl,
): Promise<void> {
  const { m: nearest } = out
  const { limits, kind } = scanner.device.info
  const { width } = scanner
  const rows = points.length / width
  const n = end - start
  const batch = scanner.mostQueries(nearest)
  for (let first = 0; first < rows; first += batch) {
    const count = Math.min(batch, rows - first)
    const lists = Math.max(1, Math.min(Math.ceil(TASKS[kind] / Math.ceil(count / 4)), Math.ceil(n / LEAST_CODES[kind])))
    const fitting = Math.max(1, Math.floor(limits.bindingBytes / (count * nearest * 4)))
    const cut = Math.min(lists, fitting)
    const own = points.subarray(first * width, (first + count) * width)
    const report = (share: number): void => onProgress?.((first + share * count) / rows)
    const control = { signal, onProgress: onProgress && report }
    const found = await scanner.run(codes, own, flatTasks(count, n, cut), cut, cut, nearest, control)
    takeRanked(out, found, first, count, start)
  }
}

export function checkDistance(distance: CodeDistance, codec: Codec): CodeDistance {
  const bits = codec.codewords === 2
  if (distance === 'hamming' && !bits) {
    throw badOption('distance', distance, 'it requires codes of bits; train with type ok or itq, or give symmetric.')
  }
  return distance
}

export interface QueryPoints {
  /** [queries][s], in the space of the codebooks. */
  readonly points: Float32Array
  /** To be added to every distance of a query: what no direction sees. */
  readonly rest: Float64Array | undefined
}

/** The points that codes are compared with. */
export async function queryPoints(
  device: Device,
  codec: Codec,
  source: VectorSource,
  distance: CodeDistance,
  signal: AbortSignal | undefined,
): Promise<QueryPoints> {
  const { ranges, codewords } = codec
  const s = ranges[ranges.length - 1]
  if (distance !== 'asymmetric') {
    const { codes } = await encodeVectors(device, source, codec, { signal })
    const own = unpackCodes(codes, { m: ranges.length - 1, codewords })
    return { points: distance === 'hamming' ? Float32Array.from(own) : wordsOf(own, codec), rest: undefined }
  }
  const piece = Math.min(source.rows, MOST_QUERIES)
  const onDevice = new DeviceCodec(device, codec, piece)
  const points = new Float32Array(source.rows * s)
  const rest = codec.offset && new Float64Array(source.rows)
  try {
    for await (const part of projectedPieces(device, source, codec, onDevice, piece, { signal })) {
      if (codec.rotation === undefined) {
        points.set(part.framed, part.first * s)
        continue
      }
      const { buffer, stride } = part.projected
      const rows = new Float32Array(await device.read({ buffer, offset: 0, bytes: part.count * stride * 4 }))
      for (let i = 0; i < part.count; i++) {
        points.set(rows.subarray(i * stride, i * stride + s), (part.first + i) * s)
      }
      rest?.set(leftOver(part.framed, rows, stride, part.count, codec), part.first)
    }
  } finally {
    onDevice.free()
  }
  return { points, rest }
}

/** The same bits as corners of a unit cube: squared distances count the bits that differ. */
export function cubeOf(codec: Codec): Codec {
  const m = codec.ranges.length - 1
  const ranges = Array.from({ length: m + 1 }, (_, i) => i)
  const books = new Float32Array(m * 2 * bookStride(ranges))
  for (let i = 0; i < m; i++) books[(i * 2 + 1) * bookStride(ranges)] = 1
  return { ...codec, ranges, books }
}

/** Groups of four queries, each with every part of n codes. */
function flatTasks(queries: number, n: number, parts: number): ScanTask[] {
  const tasks: ScanTask[] = []
  const size = Math.ceil(n / parts)
  for (let first = 0; first < queries; first += 4) {
    const four = Array.from({ length: Math.min(4, queries - first) }, (_, lane) => first + lane)
    for (let part = 0; part < parts; part++) {
      tasks.push({ queries: four, first: Math.min(n, part * size), last: Math.min(n, (part + 1) * size), part })
    }
  }
  return tasks
}

/** Tables and lists to run through codes on a device. Who makes it frees it. */
export class Scanner {
  readonly device: Device
  readonly #codec: Codec
  readonly #scope: BufferScope
  readonly #books: DeviceBuffer
  #codes: DeviceBuffer | undefined

  constructor(device: Device, codec: Codec) {
    this.device = device
    this.#codec = codec
    this.#scope = new BufferScope(device)
    this.#books = this.#scope.upload(codec.books, 'codebooks')
  }

  get shape(): { m: number; codewords: number } {
    return { m: this.#codec.ranges.length - 1, codewords: this.#codec.codewords }
  }

  /** Numbers of a query. */
  get width(): number {
    return this.#codec.ranges[this.#codec.ranges.length - 1]
  }

  /** Bytes of a row of codes on the device. */
  get codeRowBytes(): number {
    const { m, codewords } = this.shape
    const { bits, cells } = codeLayout(m, codewords)
    return codeStride(cells) * (bits === 32 ? 4 : 1)
  }

  /** Codes of its own, in place of those before. */
  load(codes: Uint8Array): DeviceBuffer {
    this.#codes?.free()
    this.#codes = this.device.allocate(Math.ceil(codes.length / 4) * 4, 'codes')
    this.device.write(this.#codes, codes)
    return this.#codes
  }

  /** Queries whose tables and lists fit a binding. */
  mostQueries(nearest: number): number {
    const { limits, kind } = this.device.info
    const { m, codewords } = this.shape
    const tables = kind === 'webgpu' ? tableBytes(m, codewords) : 0
    const perQuery = Math.max(tables, nearest * 4, this.width * 4)
    return Math.max(1, Math.min(MOST_QUERIES, Math.floor(limits.bindingBytes / perQuery)))
  }

  /** Lists of `parts` parts a point, of which `lists` that follow each other become one. */
  async run(
    codes: DeviceBuffer,
    points: Float32Array,
    tasks: readonly ScanTask[],
    parts: number,
    lists: number,
    nearest: number,
    control: RunControl,
  ): Promise<{ labels: Uint32Array; distances: Float32Array }> {
    const { device } = this
    const { ranges, codewords } = this.#codec
    const rows = points.length / this.width
    const scope = new BufferScope(device)
    try {
      const queries = allocateRows(scope, rows, this.width, 'f32', 'queries')
      writeRows(device, queries, points)
      const bytes = rows * parts * nearest * 4
      const ids = scope.allocate(bytes, 'nearest of parts')
      const distances = scope.allocate(bytes, 'distances of parts')
      const target = { codes, tasks, parts, nearest, ids, distances }
      await scanCodes(device, { queries, ranges, books: this.#books, codewords, ...target }, control)
      if (lists === 1) return await readRanked(device, ids, distances)
      const merged = (rows * parts) / lists
      const outIds = scope.allocate(merged * nearest * 4, 'nearest')
      const outDistances = scope.allocate(merged * nearest * 4, 'distances')
      await mergeRanked(device, { queries: merged, lists, nearest, ids, distances, outIds, outDistances })
      return await readRanked(device, outIds, outDistances)
    } finally {
      scope.free()
    }
  }

  free(): void {
    this.#codes?.free()
    this.#scope.free()
  }
}

async function readRanked(
  device: Device,
  ids: DeviceBuffer,
  distances: DeviceBuffer,
): Promise<{ labels: Uint32Array; distances: Float32Array }> {
  return {
    labels: new Uint32Array(await device.read(ids)),
    distances: new Float32Array(await device.read(distances)),
  }
}
