/** When dense kernels use register tiles of 128 x 128 results. */
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import type { GpuTarget } from '../device/contract.ts'

/** Narrower results would leave most of a tile empty. */
const LEAST_WIDTH = 48

/** The form asked for; by default tiles on hardware, for results at least this wide. */
export function usesTiles(form: 'blocks' | 'tiles' | undefined, gpu: GpuTarget, width: number): boolean {
  return form === undefined ? gpu.tiled && width >= LEAST_WIDTH : form === 'tiles'
}

/** Tiles along one side of a result. */
export function tilesOf(length: number): number {
  return Math.ceil(length / PRODUCT_TILE.rows)
}
