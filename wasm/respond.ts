/**
 * Which components of a spherical Gaussian mixture answer for a point. A component is ranked by
 * scale[0] - |x - mean|^2 * scale[1]: the logarithm of its weight times its density, but for what all
 * have in common. Items are points. Lists are kept best first; ties go to the lowest number.
 *
 * scales: f32 [k][2]. best: u32 [n][m], 0xffffffff for none; logs: f32 [n][m].
 */
import { rowBytes, squaredDistance } from './simd'

const NONE: u32 = 0xffffffff

function logOf(scales: usize, component: u32, distance: f32): f32 {
  const at = scales + ((<usize>component) << 3)
  return load<f32>(at) - distance * load<f32>(at, 4)
}

/** Puts a component where it belongs among the `held` best; gives how many there are then. */
function insert(list: usize, held: u32, m: u32, log: f32, component: u32): u32 {
  let place = held
  if (held === m) {
    const last = list + ((<usize>m) << 3) - 8
    const lowest = load<f32>(last)
    if (log < lowest || (log === lowest && component > load<u32>(last, 4))) return held
    place--
  }
  while (place > 0) {
    const before = list + ((<usize>place) << 3) - 8
    const other = load<f32>(before)
    if (other > log || (other === log && load<u32>(before, 4) < component)) break
    store<u64>(before, load<u64>(before), 8)
    place--
  }
  const at = list + ((<usize>place) << 3)
  store<f32>(at, log)
  store<u32>(at, component, 4)
  return min(held + 1, m)
}

function holds(list: usize, held: u32, component: u32): bool {
  for (let place: usize = 0; place < <usize>held; place++) {
    if (load<u32>(list + (place << 3), 4) === component) return true
  }
  return false
}

function writeList(list: usize, held: u32, m: u32, best: usize, logs: usize): void {
  for (let place: usize = 0; place < <usize>m; place++) {
    const there = place < <usize>held
    store<u32>(best + (place << 2), there ? load<u32>(list + (place << 3), 4) : NONE)
    store<f32>(logs + (place << 2), there ? load<f32>(list + (place << 3)) : <f32>-Infinity)
  }
}

/** The best of those a point had, under their new numbers, and of those just found, with their distances. */
export function respondLists(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  scales: usize,
  best: usize,
  renamed: usize,
  m: u32,
  found: usize,
  foundDistances: usize,
  width: u32,
  logs: usize,
): void {
  for (let i = start; i < end; i++) {
    const row = x + <usize>i * rowBytes(stride, kind)
    const own = best + ((<usize>i * m) << 2)
    let held: u32 = 0
    for (let place: usize = 0; place < <usize>m; place++) {
      const before = load<u32>(own + (place << 2))
      if (before === NONE) continue
      const component = load<u32>(renamed + ((<usize>before) << 2))
      if (component === NONE) continue
      const distance = squaredDistance(row, kind, centers + ((<usize>component * stride) << 2), stride)
      held = insert(scratch, held, m, logOf(scales, component, distance), component)
    }
    const fresh = (<usize>i * width) << 2
    for (let place: usize = 0; place < <usize>width; place++) {
      const component = load<u32>(found + fresh + (place << 2))
      if (component === NONE || holds(scratch, held, component)) continue
      const distance = load<f32>(foundDistances + fresh + (place << 2))
      held = insert(scratch, held, m, logOf(scales, component, distance), component)
    }
    writeList(scratch, held, m, own, logs + ((<usize>i * m) << 2))
  }
}

/** The m best of all components, and evidence[n]: the log of the sum over all of them. */
export function respondAll(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  count: u32,
  scales: usize,
  m: u32,
  best: usize,
  logs: usize,
  evidence: usize,
): void {
  const all = scratch + ((<usize>m) << 3)
  for (let i = start; i < end; i++) {
    const row = x + <usize>i * rowBytes(stride, kind)
    let held: u32 = 0
    for (let component: u32 = 0; component < count; component++) {
      const distance = squaredDistance(row, kind, centers + ((<usize>component * stride) << 2), stride)
      const log = logOf(scales, component, distance)
      store<f32>(all + ((<usize>component) << 2), log)
      held = insert(scratch, held, m, log, component)
    }
    const top = load<f32>(scratch)
    let sum: f64 = 0
    for (let component: usize = 0; component < <usize>count; component++) {
      const gap = load<f32>(all + (component << 2)) - top
      if (gap > -40) sum += <f64>Mathf.exp(gap)
    }
    writeList(scratch, held, m, best + ((<usize>i * m) << 2), logs + ((<usize>i * m) << 2))
    store<f32>(evidence + ((<usize>i) << 2), <f32>(<f64>top + Math.log(sum)))
  }
}
