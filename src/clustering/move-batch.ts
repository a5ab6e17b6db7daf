/**
 * How many points propose their moves at a time in k-means#. Their proposals are made against the same sums, so larger
 * batches cost quality, and smaller ones cost a GPU launches. Batches of a few thousand points, or of a hundredth of all,
 * give the same objective as single points; 128 batches keep a round below a thousand launches for any number of points.
 */
const LEAST = 4096
const MOST_BATCHES = 128

/** `batch` as the user gave it, 0 for the default. It depends on the number of points n alone, and so do results. */
export function moveBatch(batch: number, n: number): number {
  return batch > 0 ? batch : Math.max(LEAST, Math.ceil(n / MOST_BATCHES))
}
