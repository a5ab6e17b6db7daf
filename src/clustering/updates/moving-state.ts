/** Clusters as moves see them: kept aside, put back, and carried from one device to another. */
import { CentroidalError } from '../../core/errors.ts'
import type { BufferScope, Device, DeviceBuffer } from '../../device/contract.ts'
import { type MovingClusters, prepareMoves } from '../../kernels/moving-clusters.ts'
import type { RunState } from '../run-state.ts'

/** All memory that applying a move changes. */
function changingBuffers({ centers, masses, quantized, sparse }: MovingClusters): DeviceBuffer[] {
  if (sparse) return [masses, sparse.sums, sparse.squares]
  return [centers.buffer, masses, ...(quantized ? [quantized] : [])]
}

/** A copy on the same device, except of the centres of dense points. */
export class MovingCopy {
  readonly #device: Device
  readonly #buffers: readonly DeviceBuffer[]
  readonly #copies: readonly DeviceBuffer[]

  constructor(device: Device, scope: BufferScope, clusters: MovingClusters) {
    this.#device = device
    this.#buffers = changingBuffers(clusters).filter((buffer) => buffer !== clusters.centers.buffer)
    this.#copies = this.#buffers.map(({ bytes, label }) => scope.allocate(bytes, `${label} before`))
  }

  take(): void {
    this.#buffers.forEach((buffer, i) => {
      this.#device.copy(buffer, this.#copies[i])
    })
  }

  putBack(): void {
    this.#buffers.forEach((buffer, i) => {
      this.#device.copy(this.#copies[i], buffer)
    })
  }
}

/** The same as values. */
export interface MovingValues {
  readonly kind: string
  readonly buffers: readonly ArrayBuffer[]
}

export async function readMoving(device: Device, clusters: MovingClusters): Promise<MovingValues> {
  const buffers = await Promise.all(changingBuffers(clusters).map((buffer) => device.read(buffer)))
  return { kind: device.info.kind, buffers }
}

/** Takes over what another device has. */
export async function writeMoving(state: RunState, clusters: MovingClusters, values: MovingValues): Promise<void> {
  const { device } = state
  const own = changingBuffers(clusters)
  if (values.kind === device.info.kind) {
    own.forEach((buffer, i) => {
      device.write(buffer, new Uint8Array(values.buffers[i], 0, buffer.bytes))
    })
    return
  }
  if (clusters.sparse) {
    throw new CentroidalError(
      'bad-option',
      'Points that are sparse rows can be moved on several devices only if all are of one kind: give CPU devices alone, or GPUs alone.',
    )
  }
  // Devices of another kind keep other forms of the same centres: these are made anew from centres, weights and sizes.
  const { k, points } = state
  const [centers, masses] = values.buffers
  device.write(clusters.centers.buffer, new Uint8Array(centers, 0, k * points.stride * 4))
  const pairs = new Float32Array(masses, 0, 2 * k)
  const scope = state.scope
  const totals = scope.upload(
    Float32Array.from({ length: k }, (_, i) => pairs[2 * i]),
    'weights of clusters',
  )
  const counts = scope.upload(
    Uint32Array.from({ length: k }, (_, i) => pairs[2 * i + 1]),
    'sizes of clusters',
  )
  try {
    await prepareMoves(device, {
      sums: clusters.centers.buffer,
      totals,
      counts,
      clusters: { ...clusters, unit: false },
    })
  } finally {
    totals.free()
    counts.free()
  }
}
