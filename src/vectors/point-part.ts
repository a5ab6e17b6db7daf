/** A contiguous range of the points on one device, with the labels and distances that go with it. */
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

/** Rows first to first + count, on one device: those of a domain that the device owns. */
export class PointPart {
  readonly owner: number
  readonly first: number
  readonly count: number
  /** The rows that share trees with these, on this device or on others. */
  readonly domain: Domain
  readonly shards: readonly PartShard[]
  readonly device: Device
  readonly distances: DeviceBuffer
  readonly weights: DeviceBuffer | undefined
  readonly sums: DeviceBuffer
  readonly differences: DeviceBuffer
  #labels: DeviceBuffer
  #previous: DeviceBuffer

  constructor(
    device: Device,
    scope: BufferScope,
    { owner, first, count, domain, shards }: PartPlace,
    neighbors: number,
    weights: DeviceBuffer | undefined,
  ) {
    this.device = device
    this.owner = owner
    this.first = first
    this.count = count
    this.domain = domain
    this.shards = shards
    this.weights = weights
    this.#labels = scope.allocate(count * neighbors * 4, 'labels')
    this.#previous = scope.allocate(count * neighbors * 4, 'labels of the round before')
    this.distances = scope.allocate(count * neighbors * 4, 'distances')
    this.sums = scope.allocate(tallyWorkspaceBytes(count), 'sums of blocks')
    this.differences = scope.allocate(tallyWorkspaceBytes(count), 'changes of blocks')
  }

  /** Whether other devices own rows of the same domain. */
  get isPartial(): boolean {
    return this.count < this.domain.count
  }

  /** Labels as they stand. */
  get labels(): DeviceBuffer {
    return this.#labels
  }

  get previous(): DeviceBuffer {
    return this.#previous
  }

  /** What was current is now the round before; called again it undoes that. */
  swapLabels(): void {
    const labels = this.#labels
    this.#labels = this.#previous
    this.#previous = labels
  }
}
