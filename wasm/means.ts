/**
 * Centres from sums: mean = sum / total, scaled to length 1 if `unit`. gains: for each cluster, the decrease of the squared
 * distances of its points when the centre moves there, total * (|mean - old|^2 - |mean - new|^2). A cluster without weight
 * keeps its centre, and its gain is 0. Items are clusters.
 */
import { MeansFromSumsArgs } from './build/assembly/arguments'

export function meansFromSums(start: u32, end: u32, _scratch: usize, args: MeansFromSumsArgs): void {
  const sums = args.sums
  const totals = args.totals
  const stride = args.stride
  const unit = args.unit
  const centers = args.centers
  const gains = args.gains
  for (let cluster = start; cluster < end; cluster++) {
    const at = (<usize>cluster) << 2
    const total = <f64>load<f32>(totals + at)
    if (total <= 0) {
      store<f32>(gains + at, 0)
      continue
    }
    const sum = sums + at * stride
    const center = centers + at * stride
    let squares: f64 = 0
    for (let column: usize = 0; column < (<usize>stride) << 2; column += 4) {
      const mean = <f64>load<f32>(sum + column) / total
      squares += mean * mean
    }
    const length = unit && squares > 0 ? 1 / Math.sqrt(squares) : 1
    let before: f64 = 0
    let after: f64 = 0
    for (let column: usize = 0; column < (<usize>stride) << 2; column += 4) {
      const mean = <f64>load<f32>(sum + column) / total
      const old = <f64>load<f32>(center + column)
      const fresh = <f32>(mean * length)
      before += (mean - old) * (mean - old)
      after += (mean - <f64>fresh) * (mean - <f64>fresh)
      store<f32>(center + column, fresh)
    }
    store<f32>(gains + at, <f32>(total * (before - after)))
  }
}
