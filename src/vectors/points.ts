/**
 * The points of a run, on one device or on several that each own some of the shards: vectors in parts of at most
 * `partBytes`, with the labels and distances that go with them. Vectors that do not fit a device's memory are streamed;
 * labels, distances and trees then stay, or, where the memory of the process is limited (`limits.totalBytes`), go to a
 * temporary file. Rows are cut as layout.ts says.
 */
import { matrix, readWide, sparseSource, toSource, type VectorData, type VectorSource } from '../core/matrix.ts'
import { pickRows } from '../core/sparse.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { allocateRows, type DeviceRows, paddedCols } from '../kernels/rows.ts'
import { type Frame, intoFrame } from './frame.ts'
import { KeptStructures } from './kept-structures.ts'
import { partsOf, type RowLayout } from './layout.ts'
import { PartPager } from './part-pager.ts'
import { PartVectors } from './part-vectors.ts'
import { type PartPlace, PointPart } from './point-part.ts'
import { layOut, openSpill, type PointStoreOptions, type Room, roomFor } from './point-room.ts'
import { readScattered } from './scattered-rows.ts'
import { isOwnSketch, projectRows, type SketchBasis, sketchBasis } from './sketch.ts'
import { compareSparseRows, sparseIntoFrame } from './sparse-points.ts'
import type { Spill } from './spill.ts'
import type { TreePoints } from './tree-points.ts'

/** Labels and distances of points that other processes own. */
export interface RemotePoints {
  labels(): Promise<Uint32Array>
  distances(): Promise<Float32Array>
  /** Without labels: no point has one. */
  writeLabels(labels: Uint32Array | undefined): void
}

export class PointStore {
  #source: VectorSource
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
  readonly #pagers: readonly PartPager[]
  readonly #spills: readonly (Spill | undefined)[]
  readonly #sketches: readonly KeptStructures[]
  /** By the first row of the domain. */
  readonly #bases = new Map<number, Promise<SketchBasis>>()
  /** Set where other processes own all points: `owned` is empty then. */
  remote: RemotePoints | undefined
  /** All points on the first device, where several own them. */
  #gathered: Promise<PointStore> | undefined

  static async open(
    devices: Device | readonly Device[],
    source: VectorSource,
    options: PointStoreOptions,
  ): Promise<PointStore> {
    const all = 'run' in devices ? [devices] : devices
    const layout = options.layout ?? layOut(all, source, options)
    const places = partsOf(layout, all.length).filter(
      ({ shards }) => options.owned === undefined || options.owned.has(shards[0].index),
    )
    const room = all.map((device, owner) =>
      roomFor(
        device,
        source,
        places.filter((place) => place.owner === owner),
        options,
      ),
    )
    const spills: (Spill | undefined)[] = []
    let store: PointStore
    try {
      for (const [owner, device] of all.entries()) {
        spills.push(room[owner].spilled ? await openSpill(device) : undefined)
      }
      store = new PointStore(all, source, options, layout, places, room, spills)
    } catch (error) {
      for (const spill of spills) await spill?.close()
      throw error
    }
    try {
      await Promise.all(store.#vectors.map((vectors) => vectors.fill(options.watch ?? {})))
      if (options.held && all.length === 1) store.#source = store.#vectors[0].asSource() ?? source
    } catch (error) {
      store.free()
      throw error
    }
    return store
  }

  private constructor(
    devices: readonly Device[],
    source: VectorSource,
    options: PointStoreOptions,
    layout: RowLayout,
    places: readonly PartPlace[],
    room: readonly Room[],
    spills: readonly (Spill | undefined)[],
  ) {
    const { frame, weights, neighbors = 1 } = options
    this.#neighbors = neighbors
    this.#options = options
    this.#source = source
    this.frame = frame
    this.rows = source.rows
    this.cols = source.cols
    this.stride = paddedCols(source.cols)
    this.numbers = source.sparse ? source.sparse.values.length : source.rows * this.stride
    this.layout = layout
    this.#spills = spills
    // With fewer shards than devices the last devices have nothing to do.
    this.devices = devices.slice(0, 1 + places.reduce((most, { owner }) => Math.max(most, owner), 0))
    this.#scopes = this.devices.map((device) => new BufferScope(device))
    this.#kept = this.devices.map((device, owner) => new KeptStructures(device, undefined, spills[owner]))
    this.#sketches = this.devices.map(
      (device, owner) => new KeptStructures(device, Number.POSITIVE_INFINITY, spills[owner]),
    )
    this.parts = places.map(
      (place) =>
        new PointPart(
          devices[place.owner],
          place,
          neighbors,
          weights?.subarray(place.first, place.first + place.count),
        ),
    )
    const pagers: PartPager[] = []
    try {
      for (const [owner, device] of this.devices.entries()) {
        const leave = async (): Promise<void> => {
          await this.#kept[owner].putAway()
          await this.#sketches[owner].putAway()
        }
        pagers.push(new PartPager(device, this.partsOn(owner), spills[owner], leave))
      }
    } catch (error) {
      for (const pager of pagers) pager.free()
      throw error
    }
    this.#pagers = pagers
    // Workspaces are made for at least one row, also where all points are elsewhere.
    this.largestPart = this.parts.reduce((most, { count }) => Math.max(most, count), 1)
    this.largestDomain = this.layout.domains.reduce((most, { count }) => Math.max(most, count), 0)
    this.#vectors = this.devices.map(
      (device, owner) =>
        new PartVectors(device, this.#scopes[owner], source, frame, this.partsOn(owner), room[owner].resident),
    )
  }

  get source(): VectorSource {
    return this.#source
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

  /**
   * Brings labels and distances of a part to its device. Where memory is limited they are only there until another part of
   * the same device is asked for, and so are the structures made of it.
   */
  load(part: PointPart): Promise<void> {
    return this.#pagers[part.owner].load(part)
  }

  /** The vectors of a part, which is loaded too; when streaming they are only there until the next call for the same device. */
  async vectors(part: PointPart): Promise<DeviceRows> {
    await this.load(part)
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
        get weights() {
          return weights && part.weights
        },
        vectors: () => this.vectors(part),
      })),
      gather: (indices) => this.gather(indices),
      sparse: sparse && { compare: (indices) => compareSparseRows(sparse, indices, this.frame) },
    }
  }

  /** What the sketch of a part's domain is made with. Undefined where vectors are narrow or few: they are their own sketch. */
  basis({ domain }: PointPart): Promise<SketchBasis> | undefined {
    if (isOwnSketch(domain.count, this.cols)) return undefined
    const known = this.#bases.get(domain.first)
    if (known) return known
    const read = (first: number, end: number) => this.read(domain.first + first, domain.first + end)
    const basis = sketchBasis(domain.count, this.cols, read)
    this.#bases.set(domain.first, basis)
    basis.catch(() => this.#bases.delete(domain.first))
    return basis
  }

  /** What trees over a part's domain are grown from; made once, and it stays where vectors are streamed. */
  async sketch(part: PointPart): Promise<DeviceRows> {
    const basis = await this.basis(part)
    // Vectors without a basis may be streamed.
    if (basis === undefined && !part.isPartial) return this.vectors(part)
    const { device, owner } = part
    await this.load(part)
    return this.#sketches[owner].get('sketches', String(part.first), async (scope) => {
      const temporary = new BufferScope(device)
      try {
        const rows = part.isPartial ? await this.#domainRows(part, basis ? temporary : scope) : await this.vectors(part)
        return basis ? await projectRows(device, scope, rows, basis) : rows
      } finally {
        temporary.free()
      }
    })
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
    await readScattered(this.source, indices, (row, place) => {
      out.set(intoFrame(row, this.cols, this.frame), place * this.cols)
    })
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
    for (const part of this.parts) {
      const { first, count } = part
      await this.#pagers[part.owner].readLabels(part, labels.subarray(first * m, (first + count) * m))
    }
    return labels
  }

  /** Those of a part. */
  async labelsOf(part: PointPart): Promise<Uint32Array> {
    const labels = new Uint32Array(part.count * this.#neighbors)
    await this.#pagers[part.owner].readLabels(part, labels)
    return labels
  }

  async readDistances(): Promise<Float32Array> {
    if (this.remote) return this.remote.distances()
    const m = this.#neighbors
    const distances = new Float32Array(this.rows * m)
    for (const part of this.parts) {
      const { first, count } = part
      await this.#pagers[part.owner].readDistances(part, distances.subarray(first * m, (first + count) * m))
    }
    return distances
  }

  async distancesOf(part: PointPart): Promise<Float32Array> {
    const distances = new Float32Array(part.count * this.#neighbors)
    await this.#pagers[part.owner].readDistances(part, distances)
    return distances
  }

  /** Labels of a part that is kept here. */
  async writeLabelsOf(part: PointPart, labels: Uint32Array): Promise<void> {
    await this.#pagers[part.owner].writeLabels(part, labels)
  }

  async writeLabels(labels: Uint32Array): Promise<void> {
    if (this.remote) {
      this.remote.writeLabels(labels)
      return
    }
    const m = this.#neighbors
    for (const part of this.parts) {
      const { first, count } = part
      await this.#pagers[part.owner].writeLabels(part, labels.subarray(first * m, (first + count) * m))
    }
  }

  /** As before the first round: no point has a label. */
  forgetLabels(): void {
    if (this.remote) {
      this.remote.writeLabels(undefined)
      return
    }
    for (const pager of this.#pagers) pager.forgetLabels()
  }

  free(): void {
    for (const kept of [...this.#kept, ...this.#sketches]) kept.free()
    for (const vectors of this.#vectors) vectors.free()
    for (const pager of this.#pagers) pager.free()
    for (const spill of this.#spills) void spill?.close()
    for (const scope of this.#scopes) scope.free()
    // An opening that failed has freed what it had.
    this.#gathered?.then(
      (store) => store.free(),
      () => {},
    )
  }
}
