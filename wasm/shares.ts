/**
 * Responsibilities from logs: share = exp(log - evidence) times the weight of the point, 0 below LEAST_SHARE. Items are points.
 */
import { LEAST_SHARE, NO_LABEL, SharesOfAllArgs, SharesOfListsArgs } from './build/assembly/arguments'
import { squaredDistance } from './simd'

/**
 * In place of logs: f32 [n][m] of the components in `best`. Unless it is given, evidence[n] becomes
 * the log of the sum over the list. labels, distances: the first of the list, and how far it is.
 */
export function sharesOfLists(start: u32, end: u32, _scratch: usize, args: SharesOfListsArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const weights = args.weights
  const best = args.best
  const logs = args.logs
  const m = args.m
  const evidence = args.evidence
  const given = args.given
  const labels = args.labels
  const distances = args.distances
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const own = logs + at * m
    const label = load<u32>(best + at * m)
    store<u32>(labels + at, label)
    if (label === NO_LABEL) {
      for (let place: usize = 0; place < <usize>m; place++) store<f32>(own + (place << 2), 0)
      store<f32>(distances + at, <f32>Infinity)
      store<f32>(evidence + at, <f32>-Infinity)
      continue
    }
    const row = points.at(i)
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
      store<f32>(own + (place << 2), share < LEAST_SHARE ? 0 : share * weight)
    }
  }
}

/** All of `count` components from component `first` on: pairs u32 [n][count] (NO_LABEL where the share is 0), shares f32 [n][count]. */
export function sharesOfAll(start: u32, end: u32, _scratch: usize, args: SharesOfAllArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const scales = args.scales
  const weights = args.weights
  const first = args.first
  const count = args.count
  const evidence = args.evidence
  const pairs = args.pairs
  const shares = args.shares
  const from = args.from
  for (let i = from + start; i < from + end; i++) {
    const row = points.at(i)
    const total = load<f32>(evidence + ((<usize>i) << 2))
    const weight: f32 = weights ? load<f32>(weights + ((<usize>i) << 2)) : 1
    for (let place: u32 = 0; place < count; place++) {
      const component = first + place
      const distance = squaredDistance(row, kind, centers + ((<usize>component * stride) << 2), stride)
      const scale = scales + ((<usize>component) << 3)
      const gap = load<f32>(scale) - distance * load<f32>(scale, 4) - total
      const share = gap > -80 ? Mathf.exp(gap) : 0
      const out = (<usize>i * count + place) << 2
      store<u32>(pairs + out, share < LEAST_SHARE ? NO_LABEL : component)
      store<f32>(shares + out, share < LEAST_SHARE ? 0 : share * weight)
    }
  }
}
