/**
 * Which components of a spherical Gaussian mixture answer for a point. A component is ranked by
 * scale[0] - |x - mean|^2 * scale[1]: the logarithm of its weight times its density, but for what all
 * have in common. Items are points. Lists are kept best first; ties go to the lowest number.
 *
 * scales: f32 [k][2]. best: u32 [n][m], 0xffffffff for none; logs: f32 [n][m].
 */
import { NO_LABEL as NONE, RespondAllArgs, RespondListsArgs } from './build/assembly/arguments'
import { measureFew, squaredDistance, unpackRow } from './simd'

function logOf(scales: usize, component: u32, distance: f32): f32 {
  const at = scales + ((<usize>component) << 3)
  return load<f32>(at) - distance * load<f32>(at, 4)
}

/** Whether a full list is better than the component throughout. */
function beyond(list: usize, held: u32, m: u32, log: f32, component: u32): bool {
  if (held < m) return false
  const last = list + ((<usize>m) << 3) - 8
  const lowest = load<f32>(last)
  return log < lowest || (log === lowest && component > load<u32>(last, 4))
}

/** Puts a component where it belongs among the `held` best; gives how many there are then. */
function insert(list: usize, held: u32, m: u32, log: f32, component: u32): u32 {
  if (beyond(list, held, m, log, component)) return held
  let place = held === m ? held - 1 : held
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
export function respondLists(start: u32, end: u32, scratch: usize, args: RespondListsArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const scales = args.scales
  const m = args.m
  const width = args.width
  const list = scratch + args.listAt
  const row = scratch + args.rowAt
  const group = scratch + args.groupAt
  const measures = scratch + args.measuresAt
  for (let i = start; i < end; i++) {
    unpackRow(points.at(i), kind, stride, row)
    const own = args.best + ((<usize>i * m) << 2)
    let held: u32 = 0
    let waiting: u32 = 0
    for (let place: u32 = 0; place < m; place++) {
      const before = load<u32>(own + ((<usize>place) << 2))
      const component = before === NONE ? NONE : load<u32>(args.renamed + ((<usize>before) << 2))
      if (component !== NONE) {
        store<u32>(group + ((<usize>waiting) << 2), component)
        waiting++
      }
      if (waiting === 0 || (waiting < 4 && place + 1 < m)) continue
      measureFew(row, centers, stride, group, waiting, measures)
      for (let at: usize = 0; at < <usize>waiting; at++) {
        const measured = load<u32>(group + (at << 2))
        held = insert(list, held, m, logOf(scales, measured, load<f32>(measures + (at << 2))), measured)
      }
      waiting = 0
    }
    const fresh = (<usize>i * width) << 2
    for (let place: usize = 0; place < <usize>width; place++) {
      const component = load<u32>(args.found + fresh + (place << 2))
      if (component === NONE) continue
      const log = logOf(scales, component, load<f32>(args.foundDistances + fresh + (place << 2)))
      // Most are too far: that is seen sooner than whether the list holds them.
      if (beyond(list, held, m, log, component) || holds(list, held, component)) continue
      held = insert(list, held, m, log, component)
    }
    writeList(list, held, m, own, args.logs + ((<usize>i * m) << 2))
  }
}

/** The m best of all components, and evidence[n]: the log of the sum over all of them. */
export function respondAll(start: u32, end: u32, scratch: usize, args: RespondAllArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const scales = args.scales
  const m = args.m
  const k = args.count
  const list = scratch + args.listAt
  const all = scratch + args.ranksAt
  for (let i = start; i < end; i++) {
    const row = points.at(i)
    let held: u32 = 0
    for (let component: u32 = 0; component < k; component++) {
      const distance = squaredDistance(row, kind, centers + ((<usize>component * stride) << 2), stride)
      const log = logOf(scales, component, distance)
      store<f32>(all + ((<usize>component) << 2), log)
      held = insert(list, held, m, log, component)
    }
    const top = load<f32>(list)
    let sum: f64 = 0
    for (let component: usize = 0; component < <usize>k; component++) {
      const gap = load<f32>(all + (component << 2)) - top
      if (gap > -40) sum += <f64>Mathf.exp(gap)
    }
    writeList(list, held, m, args.best + ((<usize>i * m) << 2), args.logs + ((<usize>i * m) << 2))
    store<f32>(args.evidence + ((<usize>i) << 2), <f32>(<f64>top + Math.log(sum)))
  }
}
