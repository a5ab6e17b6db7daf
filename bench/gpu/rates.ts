/** Rates and shares of kernels from the times of a timed device. Used by `npm run bench -- gpu` and by the page of demos/measure. */
import type { Peak } from './calibration.ts'
import type { KernelTimes } from './timed-device.ts'
import type { Sizes } from './workloads.ts'

export interface KernelRates extends Omit<KernelTimes, 'samples'> {
  /** Of the largest call; undefined where a dispatch takes too little time to be timed. */
  readonly rates: { readonly gflops: number; readonly gigabytes: number } | undefined
  /** Of the measured peak, 0 to 1. */
  readonly shares: { readonly arithmetic: number; readonly bandwidth: number } | undefined
}

/** Slowest first. */
export function kernelRates(times: readonly KernelTimes[], peak: Pick<Peak, 'gflops' | 'gigabytes'>): KernelRates[] {
  return times
    .map(({ samples: _, ...rest }) => {
      const { operations, bytes, seconds } = rest.largest
      if (!rest.measurable) return { ...rest, rates: undefined, shares: undefined }
      const rates = { gflops: operations / seconds / 1e9, gigabytes: bytes / seconds / 1e9 }
      const shares = { arithmetic: rates.gflops / peak.gflops, bandwidth: rates.gigabytes / peak.gigabytes }
      return { ...rest, rates, shares }
    })
    .sort((a, b) => b.seconds - a.seconds)
}

/** Milliseconds of all calls of each work. */
export function workMilliseconds(times: readonly KernelTimes[]): Map<string, number> {
  const total = new Map<string, number>()
  for (const { work, seconds } of times) total.set(work, (total.get(work) ?? 0) + seconds * 1e3)
  return total
}

/** Sizes that follow from the measured speed, powers of two: `rowsPerGflops` rows for each GFLOP/s. */
export function sizesFor(
  gflops: number,
  rowsPerGflops: number,
  most: { readonly rows: number; readonly k: number },
): {
  readonly rows: number
  readonly k: number
} {
  const rows = powerOfTwo(gflops * rowsPerGflops, 1024, most.rows)
  return { rows, k: clustersFor(rows, most.k) }
}

export function clustersFor(rows: number, most: number): Sizes['k'] {
  return powerOfTwo(2 * Math.sqrt(rows), 32, most)
}

function powerOfTwo(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, 2 ** Math.round(Math.log2(value))))
}
