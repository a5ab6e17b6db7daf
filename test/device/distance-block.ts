/** Arguments of the WebAssembly function `distanceMatrix` by address, for tests of what runs it. */
import { distancesKernel } from '../../src/kernels/distances.ts'

export interface DistanceAddresses {
  /** Rows of floats. */
  readonly x: number
  readonly stride: number
  readonly centers: number
  readonly k: number
  readonly out: number
}

export function distanceBlock({ x, stride, centers, k, out }: DistanceAddresses): Uint8Array {
  const values: Record<string, number> = { points_data: x, points_stride: stride, centers, count: k, out }
  const { bytes, fields } = distancesKernel.declaredFunction!
  const block = new Uint8Array(bytes)
  const words = new DataView(block.buffer)
  for (const { name, offset } of fields) words.setUint32(offset, values[name] ?? 0, true)
  return block
}
