/** Small things to call functions with: made once, never changed. */
import {
  blobs,
  type ClusterModel,
  cluster,
  type Device,
  type Matrix,
  openDevice,
  type Quantizer,
  trainQuantizer,
} from '../../src/index.ts'

export interface Fixtures {
  readonly device: Device
  /** 24 x 4. */
  readonly vectors: Matrix
  /** The image of each vector: 6 of 4 vectors. */
  readonly images: Uint32Array
  readonly model: ClusterModel
  readonly mixture: ClusterModel
  readonly quantizer: Quantizer
  readonly codes: Matrix
}

export async function makeFixtures(): Promise<Fixtures> {
  const device = await openDevice({ kind: 'cpu', shared: false })
  const { vectors } = blobs({ rows: 24, cols: 4, clusters: 3 })
  const images = Uint32Array.from({ length: 24 }, (_, row) => Math.floor(row / 4))
  const quantizer = await trainQuantizer(vectors, { type: 'ok', m: 2, device })
  return {
    device,
    vectors,
    images,
    model: await cluster(vectors, { k: 3, device }),
    mixture: await cluster(vectors, { k: 3, method: 'gmm', device }),
    quantizer,
    codes: await quantizer.encode(vectors, { device }),
  }
}
