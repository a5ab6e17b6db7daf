/**
 * nearest-lists: the lists of an inverted file that queries look into, for the CPU.
 *
 * queries: f32 [q][stride]. panels: as `packCenters` makes them. centers: f32 [k][stride], what the base of a list is measured
 * to. rotation, if given: f32 [width][stride]; without it `width` columns are taken as they are. lists: u32 [q][probe], nearest
 * first, ties to the lower list. bases: f32 [q][probe], squared distances to `centers`, or with `inner` negative inner
 * products. projected: f32 [q][width]. Cost: 2 q k d operations, and 2 q d (probe + width).
 */
import { mayRead, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'

const GROUP = 4
const PANEL = 8
/** Panels are scored four at a time. */
const STEP = 4 * PANEL

export const nearestListsKernel = declareKernel('nearest-lists', {
  args: {
    queries: reads('f32'),
    rows: 'u32',
    stride: 'u32',
    panels: reads('f32'),
    k: 'u32',
    centers: reads('f32'),
    rotation: mayRead('f32'),
    /** Columns of projected queries. */
    width: 'u32',
    probe: 'u32',
    inner: 'bool',
    lists: writes('u32'),
    bases: writes('f32'),
    projected: writes('f32'),
  },
  items: ({ rows }) => Math.ceil(rows / GROUP),
  cpu: {
    entry: 'nearestLists',
    scratch: {
      /** f32 [4][k, padded] */
      scores: ({ k }) => GROUP * paddedCenters(k) * 4,
      /** Scores of four queries against a panel. */
      few: () => GROUP * PANEL * 4,
    },
    grain: ({ k, stride }) => Math.max(1, Math.round(1e6 / (GROUP * k * stride))),
  },
})

export function paddedCenters(k: number): number {
  return Math.ceil(k / STEP) * STEP
}

/** Numbers of packed centres. */
export function packedNumbers(k: number, stride: number): number {
  return paddedCenters(k) * (stride + 1)
}

/**
 * Centres in panels of eight: the numbers that scores start from, then column after column. Places behind the last centre
 * have the score -Infinity.
 */
export function packCenters(centers: Float32Array, stride: number, inner: boolean): Float32Array {
  const k = centers.length / stride
  const packed = new Float32Array(packedNumbers(k, stride))
  for (let center = 0; center < paddedCenters(k); center++) {
    const panel = Math.floor(center / PANEL) * PANEL * (stride + 1)
    const lane = center % PANEL
    if (center >= k) {
      packed[panel + lane] = Number.NEGATIVE_INFINITY
      continue
    }
    let squares = 0
    for (let j = 0; j < stride; j++) {
      const value = centers[center * stride + j]
      squares += value * value
      packed[panel + (j + 1) * PANEL + lane] = value
    }
    packed[panel + lane] = inner ? 0 : -squares / 2
  }
  return packed
}
