/** What searches by any metric share: vectors as they are measured, and the limit of a range search. */
import { trustedSource } from '../core/checked-source.ts'
import type { VectorSource } from '../core/matrix.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { RankedCodes } from '../quantize/ranked.ts'
import { inspectFrame, intoFrame } from '../vectors/frame.ts'
import type { SearchMetric } from './flat.ts'

/** Vectors as they are encoded and compared: at length one for angles. */
export async function inMetric(source: VectorSource, metric: SearchMetric): Promise<VectorSource> {
  if (metric !== 'cosine') return source
  const frame = { ...(await inspectFrame(source, 'cosine')), type: 'f32' } as const
  const { rows, cols, name } = source
  const read = async (start: number, end: number) => intoFrame(await source.read(start, end), cols, frame)
  return trustedSource({ rows, cols, type: 'f32', name, read })
}

/** Results of a range search: what is farther is taken out. */
export function nearerThan(within: number | undefined, found: RankedCodes): RankedCodes {
  if (within === undefined) return found
  found.distances.forEach((distance, i) => {
    if (distance <= within) return
    found.labels[i] = NO_LABEL
    found.distances[i] = Number.POSITIVE_INFINITY
  })
  return found
}
