/**
 * What of the points is kept where, and how their rows are cut: by the size of the rows and the limits of the devices. Pure,
 * apart from opening a temporary file.
 */
import { platform } from '#platform'
import { elementBytes, type VectorSource } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import { cutRows, type Range, rowsWithin } from '../device/plan.ts'
import { paddedCols } from '../kernels/rows.ts'
import type { Frame, Watch } from './frame.ts'
import { layOutRows, layOutSeparately, type RowLayout, type ShardChoice } from './layout.ts'
import { vectorBytesOf } from './part-vectors.ts'
import type { PartPlace } from './point-part.ts'
import { cutSparseRows } from './sparse-points.ts'
import { Spill } from './spill.ts'

export interface PointStoreOptions {
  readonly frame: Frame
  readonly weights?: Float32Array | undefined
  /** Labels and distances kept for each point. Default 1. */
  readonly neighbors?: number
  /** Bytes that are kept for each point in one buffer elsewhere: parts are made small enough for it. */
  readonly bytesPerPoint?: number | undefined
  /** Rows of a part, for who needs room for something else of each. Default: as many as fit. */
  readonly mostRows?: number
  /** Most bytes of vectors in a part. Default: `partBytes` of the device's limits. */
  readonly partBytes?: number
  /** How rows are cut into shards. Default: as the memory of a device requires. */
  readonly shards?: ShardChoice | undefined
  /** Domains end where shards do. Default: false. */
  readonly separate?: boolean | undefined
  /** The layout to use, instead of one that follows from the limits of the devices. */
  readonly layout?: RowLayout | undefined
  /** Numbers of the shards that are kept here, if others are not; requires separate shards. Default: all. */
  readonly owned?: ReadonlySet<number> | undefined
  /** Bytes on each device that what is done with the points needs besides, if that may be much. Default: 0. */
  readonly besides?: number
  /** Bytes on the host besides a label for each point, where the memory of the process is limited. Default: 0. */
  readonly hostBytes?: number
  /** Keeps the vectors on the device even if they take more than `memoryBytes`. Default: false. */
  readonly resident?: boolean
  /** Rows are read from the device, where it is fast at that, once they are there: the source may be let go. Default: false. */
  readonly held?: boolean
  /** While the vectors are loaded. */
  readonly watch?: Watch
}

/** Where much is kept for each point, a part of more than this would only cost memory: there are several such buffers. */
const MOST_PART_BYTES = 16 * 2 ** 20
/** About what is kept for each point besides its vector: labels and distances, a sketch, and a dozen trees. */
const KEPT_FOR_POINT = 96
/** Of the memory of a device, `memoryBytes` is what vectors may fill; so many times as much may be filled in all. */
const MEMORY_IN_ALL = 4 / 3
/**
 * Of the memory limit of a process: what Node takes with the library and its threads, and what waits for its garbage collector.
 * A constant, as results must not depend on what a process did before.
 */
const BYTES_OF_PROCESS = 160 * 2 ** 20
/** The largest share that is taken off the limit, however little is left. */
const MOST_TAKEN_OFF = 3 / 4
/** A label for each point on the host, as the result has them. */
const HOST_BYTES = 4
/** The share of what is left that points may fill where all of them are kept. */
const SHARE_OF_POINTS = 3 / 4
/** The share of it that one part of them may fill: sketch, labels and trees take about as much again. */
const SHARE_OF_PART = 1 / 2
/** No part fills a larger share of the whole limit. */
const MOST_OF_LIMIT = 1 / 4

/** What of the points of a device is kept where. */
export interface Room {
  /** All vectors stay on the device. */
  readonly resident: boolean
  /** What does not stay there goes to a temporary file. */
  readonly spilled: boolean
}

export function roomFor(
  { info }: Device,
  source: VectorSource,
  places: readonly PartPlace[],
  { frame, besides = 0, hostBytes = 0, resident = false }: PointStoreOptions,
): Room {
  const { memoryBytes, totalBytes } = info.limits
  const bytes = vectorBytesOf(source, frame, places)
  if (resident || places.length === 0) return { resident: true, spilled: false }
  const held = bytes <= memoryBytes && bytes + besides <= memoryBytes * MEMORY_IN_ALL
  if (totalBytes === undefined) return { resident: held, spilled: false }
  const rows = places.reduce((sum, { count }) => sum + count, 0)
  const room = leftOf(totalBytes, source.rows, besides + hostBytes)
  const fits = held && bytes + rows * KEPT_FOR_POINT <= room * SHARE_OF_POINTS
  return { resident: fits, spilled: !fits }
}

/** What points may take of the memory of a process. */
function leftOf(totalBytes: number, rows: number, besides: number): number {
  return totalBytes - Math.min(BYTES_OF_PROCESS + HOST_BYTES * rows + besides, totalBytes * MOST_TAKEN_OFF)
}

/** Undefined in a page, where only vectors can be left out of memory. */
export async function openSpill({ info }: Device): Promise<Spill | undefined> {
  const file = await platform.createScratch?.(info.temporaryFolder)
  return file && new Spill(file)
}

export function layOut(devices: readonly Device[], source: VectorSource, options: PointStoreOptions): RowLayout {
  const ranges = domainRanges(devices, source, options)
  const { shards, separate } = options
  return separate && shards !== undefined
    ? layOutSeparately(source.rows, ranges, shards)
    : layOutRows(source.rows, ranges, shards)
}

/** Where domains end: by the size of the rows and the method alone, never by what is kept and what is streamed. */
function domainRanges(devices: readonly Device[], source: VectorSource, options: PointStoreOptions): Range[] {
  const {
    frame,
    neighbors = 1,
    bytesPerPoint = 0,
    mostRows = Number.POSITIVE_INFINITY,
    besides = 0,
    hostBytes = 0,
  } = options
  const bindingBytes = Math.min(...devices.map(({ info }) => info.limits.bindingBytes))
  const partBytes = options.partBytes ?? Math.min(...devices.map(({ info }) => info.limits.partBytes))
  const totalBytes = Math.min(...devices.map(({ info }) => info.limits.totalBytes ?? Number.POSITIVE_INFINITY))
  // Who asks for a size of parts has counted what it needs.
  const limited =
    options.partBytes === undefined
      ? Math.min(totalBytes * MOST_OF_LIMIT, leftOf(totalBytes, source.rows, besides + hostBytes) * SHARE_OF_PART)
      : Number.POSITIVE_INFINITY
  const room = Math.min(bindingBytes, partBytes, limited)
  // Labels take 4 bytes a row, and the digits of the sort a little more than 4.
  const most = Math.max(
    1,
    Math.min(
      Math.floor(bindingBytes / (4 * neighbors)) - 256,
      mostRows,
      bytesPerPoint > 0 ? Math.floor(Math.min(bindingBytes, MOST_PART_BYTES) / bytesPerPoint) : source.rows,
    ),
  )
  if (source.sparse) return cutSparseRows(source.sparse, most, room, bindingBytes)
  const rowBytes = paddedCols(source.cols) * elementBytes(frame.type)
  // Of dense rows alone: sparse ones are in memory anyway.
  const kept = Math.max(1, Math.floor(limited / KEPT_FOR_POINT))
  return cutRows(source.rows, Math.min(most, kept, rowsOfPart(room, bindingBytes, rowBytes)))
}

/** At least one row, which the device must be able to bind. */
function rowsOfPart(partBytes: number, bindingBytes: number, rowBytes: number): number {
  return Math.min(rowsWithin(bindingBytes, rowBytes, 'vectors'), Math.max(1, Math.floor(partBytes / rowBytes)))
}
