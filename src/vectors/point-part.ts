/**
 * A contiguous range of the points on one device, with the labels and distances that go with it. Where memory is limited,
 * only one part of a device is loaded at a time, and the others are in a temporary file: see part-pager.ts.
 */
import type { BufferScope, Device, DeviceBuffer } from '../device/contract.ts'
import { tallyWorkspaceBytes } from '../kernels/tally.ts'
import type { Domain } from './layout.ts'

/** A shard as its part holds it. */
export interface PartShard {
  /** Its number among all shards. */
  readonly index: number
  /** Its first row, counted from the part's. */
  readonly from: number
  readonly count: number
}

export interface PartPlace {
  /** Number of the device that holds the part. */
  readonly owner: number
  readonly first: number
  readonly count: number
  readonly domain: Domain
  readonly shards: readonly PartShard[]
}

/** What a part has on its device while it is loaded. */
interface PartBuffers {
  /** Labels in turn: of the round under way, and of the one before. */
  readonly labels: readonly [DeviceBuffer, DeviceBuffer]
  readonly distances: DeviceBuffer
  readonly weights: DeviceBuffer | undefined
  readonly sums: DeviceBuffer
  readonly differences: DeviceBuffer
}

/** Rows first to first + count, on one device: those of a domain that the device owns. */
export class PointPart {
  readonly owner: number
  readonly first: number
  readonly count: number
  /** The rows that share trees with these, on this device or on others. */
  readonly domain: Domain
  readonly shards: readonly PartShard[]
  readonly device: Device
  readonly #neighbors: number
  readonly #weights: Float32Array | undefined
  #buffers: PartBuffers | undefined
  /** Which of the two labels are current. */
  #turn: 0 | 1 = 0

  /** `weights` are those of the part's points. */
  constructor(
    device: Device,
    { owner, first, count, domain, shards }: PartPlace,
    neighbors: number,
    weights: Float32Array | undefined,
  ) {
    this.device = device
    this.owner = owner
    this.first = first
    this.count = count
    this.domain = domain
    this.shards = shards
    this.#neighbors = neighbors
    this.#weights = weights
  }

  /** Allocates the memory on the device; a part that is not loaded has none. */
  load(scope: BufferScope): void {
    const { count } = this
    const bytes = this.valueBytes
    this.#buffers = {
      labels: [scope.allocate(bytes, 'labels'), scope.allocate(bytes, 'labels of the round before')],
      distances: scope.allocate(bytes, 'distances'),
      weights: this.#weights && scope.upload(this.#weights, 'weights'),
      sums: scope.allocate(tallyWorkspaceBytes(count), 'sums of blocks'),
      differences: scope.allocate(tallyWorkspaceBytes(count), 'changes of blocks'),
    }
  }

  /** The memory was freed. */
  unload(): void {
    this.#buffers = undefined
  }

  get loaded(): boolean {
    return this.#buffers !== undefined
  }

  /** Bytes of the labels, and of the distances. */
  get valueBytes(): number {
    return this.count * this.#neighbors * 4
  }

  /** Whether other devices own rows of the same domain. */
  get isPartial(): boolean {
    return this.count < this.domain.count
  }

  /** Labels as they stand. */
  get labels(): DeviceBuffer {
    return this.#held.labels[this.#turn]
  }

  get previous(): DeviceBuffer {
    return this.#held.labels[1 - this.#turn]
  }

  get distances(): DeviceBuffer {
    return this.#held.distances
  }

  get weights(): DeviceBuffer | undefined {
    return this.#held.weights
  }

  get sums(): DeviceBuffer {
    return this.#held.sums
  }

  get differences(): DeviceBuffer {
    return this.#held.differences
  }

  /** Labels in turn and distances: what is kept while the part is not loaded. */
  get values(): readonly DeviceBuffer[] {
    return [...this.#held.labels, this.#held.distances]
  }

  /** Where among `values` the current labels are. */
  get turn(): 0 | 1 {
    return this.#turn
  }

  /** What was current is now the round before; called again it undoes that. */
  swapLabels(): void {
    this.#turn = this.#turn === 0 ? 1 : 0
  }

  get #held(): PartBuffers {
    if (this.#buffers === undefined) throw new Error('The part is not loaded: ask the store for it first')
    return this.#buffers
  }
}
