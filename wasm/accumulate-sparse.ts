/**
 * Sums of sparse rows by label, after `sortByLabel` of accumulate.ts. An item is a range of the columns of one cluster: it goes
 * through the cluster's rows in order and finds its first entry in each by binary search. A column is therefore always summed in
 * the same order, however the columns are divided. Sums are taken in 64 bits. With `keepEmpty` the sums of clusters without rows
 * are not written.
 *
 * Apart from the dense kernel, because entries are added to columns wherever they are, into 64-bit sums.
 */
import { SumSparseArgs } from './build/assembly/arguments'

/** The first of the entries from..to whose column is at least `column`. */
function firstFrom(columns: usize, from: u32, to: u32, column: u32): u32 {
  while (from < to) {
    const middle = (from + to) >> 1
    if (load<u32>(columns + ((<usize>middle) << 2)) < column) from = middle + 1
    else to = middle
  }
  return from
}

export function sumSparse(start: u32, end: u32, scratch: usize, args: SumSparseArgs): void {
  const points = args.points
  const values = points.data
  const offsets = points.offsets
  const columns = points.columns
  const stride = points.stride
  const weights = args.weights
  const tables = args.tables
  const order = args.order
  const ranges = args.ranges
  const rangeColumns = args.rangeColumns
  const sums = args.sums
  const totals = args.totals
  const counts = args.counts
  const add = args.add
  const keepEmpty = args.keepEmpty
  const columnSums = scratch + args.columnSumsAt
  for (let item = start; item < end; item++) {
    const cluster = item / ranges
    const range = item % ranges
    const at = (<usize>cluster) << 2
    const low = min(range * rangeColumns, stride)
    const high = min(low + rangeColumns, stride)
    const first = load<u32>(tables + at)
    const last = load<u32>(tables + at, 4)
    if (keepEmpty && !add && first === last) {
      if (range === 0) {
        store<f32>(totals + at, 0)
        store<u32>(counts + at, 0)
      }
      continue
    }
    const out = sums + at * stride + ((<usize>low) << 2)
    const width = <usize>(high - low)
    if (add) for (let i: usize = 0; i < width; i++) store<f64>(columnSums + (i << 3), <f64>load<f32>(out + (i << 2)))
    else memory.fill(columnSums, 0, width << 3)
    let total: f64 = 0
    for (let place = first; place < last; place++) {
      const row = load<u32>(order + ((<usize>place) << 2))
      const weight: f64 = weights ? <f64>load<f32>(weights + ((<usize>row) << 2)) : 1
      total += weight
      let from = load<u32>(offsets + ((<usize>row) << 2))
      const to = load<u32>(offsets + ((<usize>row) << 2), 4)
      if (low > 0) from = firstFrom(columns, from, to, low)
      for (let entry = <usize>from; entry < <usize>to; entry++) {
        const column = load<u32>(columns + (entry << 2))
        if (column >= high) break
        const sum = columnSums + ((<usize>(column - low)) << 3)
        store<f64>(sum, load<f64>(sum) + weight * <f64>load<f32>(values + (entry << 2)))
      }
    }
    for (let i: usize = 0; i < width; i++) store<f32>(out + (i << 2), <f32>load<f64>(columnSums + (i << 3)))
    if (range === 0) {
      if (add) total += <f64>load<f32>(totals + at)
      store<f32>(totals + at, <f32>total)
      store<u32>(counts + at, last - first + (add ? load<u32>(counts + at) : 0))
    }
  }
}
