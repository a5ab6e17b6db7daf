/**
 * The points of a run, on one device or on several that each own some of the shards: vectors in parts of at most
 * `partBytes`, with the labels and distances that go with them. Vectors that do not fit a device's memory are streamed;
 * labels and distances always stay. Rows are cut as layout.ts says.
 */
import {
  elementBytes,
  matrix,
  readWide,
  sparseSource,
  toSource,
  type VectorData,
  type VectorSource,
} from '../core/matrix.ts'
import { pickRows } from '../core/sparse.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { cutRows, type Range, rowsWithin } from '../device/plan.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { allocateRows, type DeviceRows, paddedCols } from '../kernels/rows.ts'
import { type Frame, intoFrame, type Watch } from './frame.ts'
import { KeptStructures } from './kept-structures.ts'
import { layOutRows, layOutSeparately, partsOf, type RowLayout, type ShardChoice } from './layout.ts'
import { PartVectors } from './part-vectors.ts'
import { PointPart } from './point-part.ts'
import { isNarrow, projectRows, sketchBasis } from './sketch.ts'
import { compareSparseRows, cutSparseRows, sparseIntoFrame } from './sparse-points.ts'
import type { TreePoints } from './tree-points.ts'

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
  /** Keeps the vectors on the device even if they take more than `memoryBytes`. Default: false. */
  readonly resident?: boolean
  /** While the vectors are loaded. */
  readonly watch?: Watch
}

/** Where much is kept for each point, a part of more than this would only cost memory: there are several such buffers. */
const MOST_PART_BYTES = 16 * 2 ** 20
/** Trees over points of so few numbers are grown as fast as a sketch is made. */
const NUMBERS_WITHOUT_SKETCH = 2 ** 19

/** Labels and distances of points that other processes own. */
export interface RemotePoints {
  labels(): Promise<Uint32Array>
  distances(): Promise<Float32Array>
  /** Without labels: no point has one. */
  writeLabels(labels: Uint32Array | undefined): void
}

export class PointStore {
  readonly source: VectorSource
  readonly frame: Frame
  readonly rows: number
  readonly cols: number
  readonly stride: number
  /** Numbers a pass over the points reads. */
  readonly numbers: number
  readonly layout: RowLayout
  /** Of all devices, in the order of their rows. */
  readonly parts: readonly PointPart[]
  /** Rows of the largest part. */
  readonly largestPart: number
  /** Rows of the largest domain. */
  readonly largestDomain: number
  /** Those that own points; the first always does. */
  readonly devices: readonly Device[]
  readonly #kept: readonly KeptStructures[]
  readonly #neighbors: number
  readonly #options: PointStoreOptions
  readonly #scopes: readonly BufferScope[]
  readonly #vectors: readonly PartVectors[]
  readonly #sketches = new Map<PointPart, DeviceRows>()
  /** Set where other processes own all points: `owned` is empty then. */
  remote: RemotePoints | undefined
  /** All points on the first device, where several own them. */
  #gathered: Promise<PointStore> | undefined

  static async open(
    devices: Device | readonly Device[],
    source: VectorSource,
    options: PointStoreOptions,
  ): Promise<PointStore> {
    const store = new PointStore('run' in devices ? [devices] : devices, source, options)
    try {
      await Promise.all(store.#vectors.map((vectors) => vectors.fill(options.watch ?? {})))
    } catch (error) {
      store.free()
      throw error
    }
    return store
  }

  private constructor(devices: readonly Device[], source: VectorSource, options: PointStoreOptions) {
    const { frame, weights, neighbors = 1 } = options
    this.#neighbors = neighbors
    this.#options = options
    this.source = source
    this.frame = frame
    this.rows = source.rows
    this.cols = source.cols
    this.stride = paddedCols(source.cols)
    this.numbers = source.sparse ? source.sparse.values.length : source.rows * this.stride
    const { owned } = options
    this.layout = options.layout ?? layOut(devices, source, options)
    const places = partsOf(this.layout, devices.length).filter(
      ({ shards }) => owned === undefined || owned.has(shards[0].index),
    )
    // With fewer shards than devices the last devices have nothing to do.
    this.devices = devices.slice(0, 1 + places.reduce((most, { owner }) => Math.max(most, owner), 0))
    this.#scopes = this.devices.map((device) => new BufferScope(device))
    this.#kept = this.devices.map((device) => new KeptStructures(device))
    try {
      this.parts = places.map((place) => {
        const scope = this.#scopes[place.owner]
        const own = weights && scope.upload(weights.subarray(place.first, place.first + place.count), 'weights')
        return new PointPart(devices[place.owner], scope, place, neighbors, own)
      })
    } catch (error) {
      this.free()
      throw error
    }
    // Workspaces are made for at least one row, also where all points are elsewhere.
    this.largestPart = this.parts.reduce((most, { count }) => Math.max(most, count), 1)
    this.largestDomain = this.layout.domains.reduce((most, { count }) => Math.max(most, count), 0)
    this.#vectors = this.devices.map(
      (device, owner) =>
        new PartVectors(device, this.#scopes[owner], source, frame, this.partsOn(owner), options.resident === true),
    )
    this.forgetLabels()
  }

  /** The parts that one of the devices owns. */
  partsOn(owner: number): readonly PointPart[] {
    return this.parts.filter((part) => part.owner === owner)
  }

  /** What runs over these points share on the device that owns the part. */
  keptBeside({ owner }: PointPart): KeptStructures {
    return this.#kept[owner]
  }

  get resident(): boolean {
    return this.#vectors.every(({ resident }) => resident)
  }

  /** The vectors of a part; when streaming they are only there until the next call for the same device. */
  vectors(part: PointPart): Promise<DeviceRows> {
    return this.#vectors[part.owner].of(part)
  }

  /** All points on the first device: these, or, where several devices own them, a copy that is made when it is needed. */
  onFirstDevice(): Promise<PointStore> {
    if (this.devices.length === 1 && this.#options.owned === undefined) return Promise.resolve(this)
    const { watch: _, owned: __, ...options } = this.#options
    this.#gathered ??= PointStore.open(this.devices[0], this.source, options)
    return this.#gathered
  }

  /** The parts as kernels and trees go through them; weighted if the weights, those of the store, are given. */
  inParts(weights?: Float32Array): TreePoints {
    const { sparse } = this.source
    return {
      rows: this.rows,
      cols: this.cols,
      stride: this.stride,
      weights,
      parts: this.parts.map((part) => ({
        first: part.first,
        count: part.count,
        weights: weights && part.weights,
        vectors: () => this.vectors(part),
      })),
      gather: (indices) => this.gather(indices),
      sparse: sparse && { compare: (indices) => compareSparseRows(sparse, indices, this.frame) },
    }
  }

  /** What trees over a part's domain are grown from; made once, and it stays where vectors are streamed. */
  async sketch(part: PointPart): Promise<DeviceRows> {
    const plain = isNarrow(this.cols) || part.domain.count * this.cols <= NUMBERS_WITHOUT_SKETCH
    // Narrow or few vectors are their own sketch, and may be streamed.
    if (plain && !part.isPartial) return this.vectors(part)
    const known = this.#sketches.get(part)
    if (known) return known
    const { device, owner, domain } = part
    const scope = this.#scopes[owner]
    const temporary = new BufferScope(device)
    try {
      const rows = part.isPartial ? await this.#domainRows(part, plain ? scope : temporary) : await this.vectors(part)
      const read = (first: number, end: number) => this.read(domain.first + first, domain.first + end)
      const basis = plain ? undefined : await sketchBasis(domain.count, this.cols, read)
      const made = basis ? await projectRows(device, scope, rows, basis) : rows
      this.#sketches.set(part, made)
      return made
    } finally {
      temporary.free()
    }
  }

  /** All rows of a part's domain, of which other devices own some. */
  async #domainRows({ domain, owner }: PointPart, scope: BufferScope): Promise<DeviceRows> {
    const rows = allocateRows(scope, domain.count, this.cols, this.frame.type, 'rows of the domain')
    return this.#vectors[owner].upload(domain, rows)
  }

  /** Rows first to end as the device holds them. */
  async read(first: number, end: number): Promise<VectorData> {
    return intoFrame(await readWide(this.source, first, end), this.cols, this.frame)
  }

  /** Rows as the device holds them, by their numbers. */
  async gather(indices: ArrayLike<number>): Promise<Float32Array> {
    const out = new Float32Array(indices.length * this.cols)
    for (let i = 0; i < indices.length; i++) {
      out.set(await this.read(indices[i], indices[i] + 1), i * this.cols)
    }
    return out
  }

  /** Some of the points as a source, in the frame; sparse if they are. */
  async pick(indices: ArrayLike<number>): Promise<VectorSource> {
    const { sparse } = this.source
    if (sparse === undefined) return toSource(matrix(await this.gather(indices), indices.length, this.cols))
    const picked = pickRows(sparse, indices)
    const values = sparseIntoFrame(picked, 0, picked.rows, this.frame)
    return sparseSource({ ...picked, values }, this.source.name)
  }

  /** All labels, in the order of the points. */
  async readLabels(): Promise<Uint32Array> {
    if (this.remote) return this.remote.labels()
    const m = this.#neighbors
    const labels = new Uint32Array(this.rows * m)
    for (const { device, labels: own, first, count } of this.parts) {
      labels.set(new Uint32Array(await device.read(own), 0, count * m), first * m)
    }
    return labels
  }

  async readDistances(): Promise<Float32Array> {
    if (this.remote) return this.remote.distances()
    const m = this.#neighbors
    const distances = new Float32Array(this.rows * m)
    for (const { device, distances: own, first, count } of this.parts) {
      distances.set(new Float32Array(await device.read(own), 0, count * m), first * m)
    }
    return distances
  }

  writeLabels(labels: Uint32Array): void {
    if (this.remote) {
      this.remote.writeLabels(labels)
      return
    }
    const m = this.#neighbors
    for (const { device, labels: own, first, count } of this.parts) {
      device.write(own, labels.subarray(first * m, (first + count) * m))
    }
  }

  /** As before the first round: no point has a label. */
  forgetLabels(): void {
    if (this.remote) {
      this.remote.writeLabels(undefined)
      return
    }
    for (const { device, labels, count } of this.parts) {
      device.write(labels, new Uint32Array(count * this.#neighbors).fill(NO_LABEL))
    }
  }

  free(): void {
    for (const kept of this.#kept) kept.free()
    for (const scope of this.#scopes) scope.free()
    // An opening that failed has freed what it had.
    this.#gathered?.then(
      (store) => store.free(),
      () => {},
    )
  }
}

function layOut(devices: readonly Device[], source: VectorSource, options: PointStoreOptions): RowLayout {
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
  const room = Math.min(bindingBytes, partBytes)
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
  return cutRows(source.rows, Math.min(most, rowsOfPart(room, bindingBytes, rowBytes)))
}

/** At least one row, which the device must be able to bind. */
function rowsOfPart(partBytes: number, bindingBytes: number, rowBytes: number): number {
  return Math.min(rowsWithin(bindingBytes, rowBytes, 'vectors'), Math.max(1, Math.floor(partBytes / rowBytes)))
}
