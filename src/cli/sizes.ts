/** How the points are shared out among the clusters. */

export interface SizeSummary {
  readonly smallest: number
  readonly median: number
  readonly largest: number
  readonly empty: number
}

export function summarizeSizes(sizes: Uint32Array): SizeSummary {
  const sorted = sizes.slice().sort()
  return {
    smallest: sorted[0],
    median: sorted[sorted.length >> 1],
    largest: sorted[sorted.length - 1],
    empty: sorted.findIndex((size) => size > 0),
  }
}

const BLOCKS = '▁▂▃▄▅▆▇█'
const BINS = 24

/** How many clusters have which size, from the smallest to the largest, as a row of blocks. A gap is no cluster. */
export function sizeHistogram(sizes: Uint32Array): string {
  const { smallest, largest } = summarizeSizes(sizes)
  const bins = Math.min(BINS, largest - smallest + 1)
  const counts = new Uint32Array(bins)
  for (const size of sizes)
    counts[Math.min(bins - 1, Math.floor(((size - smallest) / (largest - smallest || 1)) * bins))]++
  const most = Math.max(...counts)
  return Array.from(counts, (clusters) =>
    clusters === 0 ? ' ' : BLOCKS[Math.ceil((clusters / most) * BLOCKS.length) - 1],
  ).join('')
}
