/**
 * Responsibilities from logs: share = exp(log - evidence) times the weight of the point, 0 below LEAST.
 * Items are points.
 */
import { rowBytes, squaredDistance } from './simd'

const NONE: u32 = 0xffffffff
/** 2^-110: smaller ones would soon round to zero. Small as they are, they say how wide a component may grow. */
const LEAST: f32 = 7.7037198e-34

/**
 * In place of logs: f32 [n][m] of the components in `best`. Unless it is given, evidence[n] becomes
 * the log of the sum over the list. labels, distances: the first of the list, and how far it is.
 */
export function sharesOfLists(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  weights: usize,
  best: usize,
  logs: usize,
  m: u32,
  evidence: usize,
  given: u32,
  labels: usize,
  distances: usize,
): void {
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const own = logs + at * m
    const label = load<u32>(best + at * m)
    store<u32>(labels + at, label)
    if (label === NONE) {
      for (let place: usize = 0; place < <usize>m; place++) store<f32>(own + (place << 2), 0)
      store<f32>(distances + at, <f32>Infinity)
      store<f32>(evidence + at, <f32>-Infinity)
      continue
    }
    const row = x + <usize>i * rowBytes(stride, kind)
    store<f32>(distances + at, squaredDistance(row, kind, centers + ((<usize>label * stride) << 2), stride))
    const top = load<f32>(own)
    let total: f32
    if (given) {
      total = load<f32>(evidence + at)
    } else {
      let sum: f64 = 0
      for (let place: usize = 0; place < <usize>m; place++) {
        const gap = load<f32>(own + (place << 2)) - top
        if (gap > -40) sum += <f64>Mathf.exp(gap)
      }
      total = <f32>(<f64>top + Math.log(sum))
      store<f32>(evidence + at, total)
    }
    const weight: f32 = weights ? load<f32>(weights + at) : 1
    for (let place: usize = 0; place < <usize>m; place++) {
      const gap = load<f32>(own + (place << 2)) - total
      const share = gap > -80 ? Mathf.exp(gap) : 0
      store<f32>(own + (place << 2), share < LEAST ? 0 : share * weight)
    }
  }
}

/** Of `count` components from `first` on, all of them: pairs u32 [n][count] (0xffffffff where the share is 0), shares f32 [n][count]. */
export function sharesOfAll(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  scales: usize,
  weights: usize,
  first: u32,
  count: u32,
  evidence: usize,
  pairs: usize,
  shares: usize,
  from: u32,
): void {
  for (let i = from + start; i < from + end; i++) {
    const row = x + <usize>i * rowBytes(stride, kind)
    const total = load<f32>(evidence + ((<usize>i) << 2))
    const weight: f32 = weights ? load<f32>(weights + ((<usize>i) << 2)) : 1
    for (let place: u32 = 0; place < count; place++) {
      const component = first + place
      const distance = squaredDistance(row, kind, centers + ((<usize>component * stride) << 2), stride)
      const scale = scales + ((<usize>component) << 3)
      const gap = load<f32>(scale) - distance * load<f32>(scale, 4) - total
      const share = gap > -80 ? Mathf.exp(gap) : 0
      const out = (<usize>i * count + place) << 2
      store<u32>(pairs + out, share < LEAST ? NONE : component)
      store<f32>(shares + out, share < LEAST ? 0 : share * weight)
    }
  }
}
