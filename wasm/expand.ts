/**
 * Means and variances of components from the sums of accumulate-soft.ts; means in place. With the way
 * the mean goes, D = fresh - old, the squares about the fresh mean are squares - 2 D . sum + total |D|^2,
 * for inner and outer pairs alone (not done if they are wanted about the old mean). The variance weighs
 * them as if a share `lambda` of the inner ones were outer. found: f32 [k][3]: total, inner total,
 * variance; a component without shares keeps its mean. Items are components.
 */
export function expandComponents(
  start: u32,
  end: u32,
  scratch: usize,
  sums: usize,
  cols: u32,
  stride: u32,
  lambda: f64,
  floor: f64,
  unit: u32,
  aroundOld: u32,
  centers: usize,
  found: usize,
): void {
  for (let component = start; component < end; component++) {
    const block = sums + <usize>component * stride * 12
    const center = centers + ((<usize>component * stride) << 2)
    const out = found + <usize>component * 12
    let innerSquares: f64 = 0
    let outerSquares: f64 = 0
    let inner: f64 = 0
    let outer: f64 = 0
    for (let t: usize = 0; t < <usize>stride >> 2; t++) {
      const at = block + t * 48
      innerSquares += <f64>load<f32>(at, 32)
      outerSquares += <f64>load<f32>(at, 36)
      inner += <f64>load<f32>(at, 40)
      outer += <f64>load<f32>(at, 44)
    }
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
      for (let column: usize = 0; column < <usize>stride; column++) {
        const at = block + (column >> 2) * 48 + ((column & 3) << 2)
        const mean = <f64>load<f32>(center + (column << 2)) + (<f64>load<f32>(at) + <f64>load<f32>(at, 16)) / total
        squares += mean * mean
      }
      if (squares > 0) length = 1 / Math.sqrt(squares)
    }
    let alongInner: f64 = 0
    let alongOuter: f64 = 0
    let way: f64 = 0
    for (let column: usize = 0; column < <usize>stride; column++) {
      const at = block + (column >> 2) * 48 + ((column & 3) << 2)
      const innerSum = <f64>load<f32>(at)
      const outerSum = <f64>load<f32>(at, 16)
      const old = <f64>load<f32>(center + (column << 2))
      const fresh = <f32>((old + (innerSum + outerSum) / total) * length)
      const step = <f64>fresh - old
      alongInner += step * innerSum
      alongOuter += step * outerSum
      way += step * step
      store<f32>(center + (column << 2), fresh)
    }
    if (!aroundOld) {
      innerSquares = max(0, innerSquares - 2 * alongInner + inner * way)
      outerSquares = max(0, outerSquares - 2 * alongOuter + outer * way)
    }
    const share: f64 = outer <= 0 ? 1 : (inner / total) * (1 - lambda)
    let variance: f64 = 0
    if (inner > 0) variance += (share * innerSquares) / inner
    if (outer > 0) variance += ((1 - share) * outerSquares) / outer
    store<f32>(out, <f32>total)
    store<f32>(out, <f32>inner, 4)
    store<f32>(out, <f32>max(floor, variance / <f64>cols), 8)
  }
}
