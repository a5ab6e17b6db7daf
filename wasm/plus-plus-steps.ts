/** Steps of greedy k-means++ on one thread: see plus-plus.ts. */
import { BLOCK, choosePlusPlus, drawPlusPlus } from './plus-plus'
import { measurePlusPlus } from './plus-plus-measure'

/**
 * One item: the steps `from` to `to` over points in one part, with what comes before the first and after the last of them;
 * all that the host would ask for job by job. Where steps are small, threads would take longer to meet than to work.
 * Scratch: that of measurePlusPlus.
 */
export function stepPlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  from: u32,
  to: u32,
  x: usize,
  kind: u32,
  stride: u32,
  places: usize,
  columnsAt: u32,
  rows: u32,
  weights: usize,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
  trials: u32,
  panels: usize,
  lengths: usize,
  potentials: usize,
  marks: usize,
  before: usize,
  slots: usize,
  spacing: usize,
  centers: usize,
  uniforms: usize,
  chosen: usize,
): void {
  const blocks = (rows + BLOCK - 1) / BLOCK
  if (from === 0) {
    measurePlusPlus(
      0,
      blocks,
      scratch,
      x,
      kind,
      stride,
      places,
      columnsAt,
      0,
      blocks,
      rows,
      weights,
      nearest,
      trial,
      candidates,
      state,
      0,
      panels,
      lengths,
      potentials,
      marks,
      before,
      slots,
      spacing,
    )
  }
  for (let step = from; step <= to; step++) {
    const draws = step < to ? trials : 0
    choosePlusPlus(
      0,
      1,
      scratch,
      potentials,
      blocks,
      step === 0 ? 1 : trials,
      draws,
      step,
      uniforms,
      state,
      chosen,
      candidates,
      stride,
      centers,
    )
    if (draws === 0) break
    drawPlusPlus(
      0,
      trials,
      scratch,
      x,
      kind,
      stride,
      places,
      columnsAt,
      0,
      0,
      rows,
      weights,
      nearest,
      trial,
      candidates,
      state,
      trials,
      panels,
      marks,
      centers,
      spacing,
    )
    measurePlusPlus(
      0,
      blocks,
      scratch,
      x,
      kind,
      stride,
      places,
      columnsAt,
      0,
      blocks,
      rows,
      weights,
      nearest,
      trial,
      candidates,
      state,
      trials,
      panels,
      lengths,
      potentials,
      marks,
      before,
      slots,
      spacing,
    )
  }
}
