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
import { type Spill, spillInto } from './part-pager.ts'
import { vectorBytesOf } from './part-vectors.ts'
import type { PartPlace } from './point-part.ts'
import { cutSparseRows } from './sparse-points.ts'

export interface PointStoreOptions {
  readonly frame: Frame
  readonly weights?: Float32Array | undefined
  /** Labels and distances kept for each point. Default 1. */
  readonly neighbors?: number
  /** Bytes that are kept for each point in one buffer elsewhere: parts are made small enough for it. */
  readonly pointBytes?: number | undefined
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
  /** Keeps the vectors on the device even if they take more than `memoryBytes`. Default: false. */
  readonly resident?: boolean
  /** While the vectors are loaded. */
  readonly watch?: Watch
}

/** Where much is kept for each point, a part of more than this would only cost memory: there are several such buffers. */
const MOST_PART_BYTES = 16 * 2 ** 20
/** About what is kept for each point besides its vector: labels and distances, a sketch, and a dozen trees. */
const KEPT_FOR_POINT = 96
/** Of the memory of a device, `memoryBytes` is what vectors may fill; so many times as much may be filled in all. */
const MEMORY_IN_ALL = 4 / 3
/** The share of the memory limit that points may fill. */
const SHARE_OF_POINTS = 1 / 2
/** The share of it that one part of them may fill. */
const SHARE_OF_PART = 1 / 4

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
  { frame, besides = 0, resident = false }: PointStoreOptions,
): Room {
  const { memoryBytes, totalBytes } = info.limits
  const bytes = vectorBytesOf(source, frame, places)
  if (resident || places.length === 0) return { resident: true, spilled: false }
  const held = bytes <= memoryBytes && bytes + besides <= memoryBytes * MEMORY_IN_ALL
  if (totalBytes === undefined) return { resident: held, spilled: false }
  const rows = places.reduce((sum, { count }) => sum + count, 0)
  const fits = held && bytes + rows * KEPT_FOR_POINT <= totalBytes * SHARE_OF_POINTS
  return { resident: fits, spilled: !fits }
}

/** Undefined in a page, where only vectors can be left out of memory. */
export async function openSpill({ info }: Device): Promise<Spill | undefined> {
  const file = await platform.createScratch?.(info.temporaryFolder)
  return file && spillInto(file)
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
  const { frame, neighbors = 1, pointBytes = 0, mostRows = Number.POSITIVE_INFINITY } = options
  const bindingBytes = Math.min(...devices.map(({ info }) => info.limits.bindingBytes))
  const partBytes = options.partBytes ?? Math.min(...devices.map(({ info }) => info.limits.partBytes))
  const totalBytes = Math.min(...devices.map(({ info }) => info.limits.totalBytes ?? Number.POSITIVE_INFINITY))
  // Who asks for a size of parts has counted what it needs.
  const limited = options.partBytes === undefined ? totalBytes * SHARE_OF_PART : Number.POSITIVE_INFINITY
  const room = Math.min(bindingBytes, partBytes, limited)
  // Labels take 4 bytes a row, and the digits of the sort a little more than 4.
  const most = Math.max(
    1,
    Math.min(
      Math.floor(bindingBytes / (4 * neighbors)) - 256,
      mostRows,
      pointBytes > 0 ? Math.floor(Math.min(bindingBytes, MOST_PART_BYTES) / pointBytes) : source.rows,
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
