/** Arguments of the WebAssembly function `distanceMatrix` by address, for tests of what runs it. */
import { distanceMatrix } from '../../src/kernels/distances.ts'

export interface DistanceAddresses {
  /** Rows of floats. */
  readonly x: number
  readonly stride: number
  readonly centers: number
  readonly k: number
  readonly out: number
}

export function distanceBlock({ x, stride, centers, k, out }: DistanceAddresses): Uint8Array {
  const values: Record<string, number> = { points_data: x, points_stride: stride, centers, k, out }
  const block = new Uint8Array(distanceMatrix.bytes)
  const words = new DataView(block.buffer)
  for (const { name, offset } of distanceMatrix.fields) words.setUint32(offset, values[name] ?? 0, true)
  return block
}
