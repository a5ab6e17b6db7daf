/**
 * Means and variances of components from the sums of accumulate-soft.ts; means in place. With D = new mean - old mean, the
 * squares about the new mean are squares - 2 D . sum + total |D|^2. About the old mean, the variance weights inner and outer
 * pairs as if a share `lambda` of the inner ones were outer. found: f32 [k][3]: total, inner total, variance; a component
 * without shares keeps its mean. Items are components.
 */
import { ExpandComponentsArgs } from './build/assembly/arguments'

export function expandComponents(start: u32, end: u32, _scratch: usize, args: ExpandComponentsArgs): void {
  const sums = args.sums
  const cols = args.cols
  const stride = args.stride
  const lambda = args.lambda
  const floor = args.floor
  const unit = args.unit
  const aroundOld = args.aroundOld
  const centers = args.centers
  const found = args.found
  for (let component = start; component < end; component++) {
    const block = sums + <usize>component * ((<usize>stride + 4) << 2)
    const totals = block + ((<usize>stride) << 2)
    const center = centers + ((<usize>component * stride) << 2)
    const out = found + <usize>component * 12
    const innerSquares = <f64>load<f32>(totals)
    const outerSquares = <f64>load<f32>(totals, 4)
    const inner = <f64>load<f32>(totals, 8)
    const outer = <f64>load<f32>(totals, 12)
    const total = inner + outer
    if (total <= 0) {
      store<f32>(out, 0)
      store<f32>(out, 0, 4)
      store<f32>(out, <f32>floor, 8)
      continue
    }
    let length: f64 = 1
    if (unit) {
      let squares: f64 = 0
      for (let at: usize = 0; at < (<usize>stride) << 2; at += 4) {
        const mean = <f64>load<f32>(center + at) + <f64>load<f32>(block + at) / total
        squares += mean * mean
      }
      if (squares > 0) length = 1 / Math.sqrt(squares)
    }
    let along: f64 = 0
    let way: f64 = 0
    for (let at: usize = 0; at < (<usize>stride) << 2; at += 4) {
      const sum = <f64>load<f32>(block + at)
      const old = <f64>load<f32>(center + at)
      const fresh = <f32>((old + sum / total) * length)
      const step = <f64>fresh - old
      along += step * sum
      way += step * step
      store<f32>(center + at, fresh)
    }
    let variance: f64 = 0
    if (aroundOld) {
      const share: f64 = outer <= 0 ? 1 : (inner / total) * (1 - lambda)
      if (inner > 0) variance += (share * innerSquares) / inner
      if (outer > 0) variance += ((1 - share) * outerSquares) / outer
    } else {
      variance = max(0, innerSquares + outerSquares - 2 * along + total * way) / total
    }
    store<f32>(out, <f32>total)
    store<f32>(out, <f32>inner, 4)
    store<f32>(out, <f32>max(floor, variance / <f64>cols), 8)
  }
}
