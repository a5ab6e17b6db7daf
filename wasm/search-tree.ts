/**
 * Approximate nearest centre by best-bin-first search of a tree of centres, or of several trees with
 * one queue. Items are points.
 *
 * nodes: u32 [..][4]: first child (or first place in `items`), number of them with bit 31 set for a
 * leaf, and for k-d trees the column and the threshold (f32) of the split. With node centres the last word is the discount of
 * the node (f32), and children are ranked by the squared distance of their centre less the discount; without, the far side of
 * a split by the squared gaps crossed.
 *
 * With a `width` all centres measured are listed, in the order found, and a full list ends the search.
 *
 * With an `order` (u32, a permutation of the rows) items are places in it: rows that are near each other, one after
 * another, find the nodes and centres they measure in the cache. It changes nothing else.
 *
 * Four nodes or centres are measured together, then taken in their order.
 */
import { SEARCH_LEAF as LEAF, NO_LABEL, SearchTreeArgs } from './build/assembly/arguments'
import { fourDistances, measureFew, unpackRow } from './simd'

export function searchTree(start: u32, end: u32, scratch: usize, args: SearchTreeArgs): void {
  const points = args.points
  const stride = points.stride
  const bytes = (<usize>stride) << 2
  const centers = args.centers
  const nodes = args.nodes
  const nodeCenters = args.nodeCenters
  const roots = args.roots
  const checks = args.checks
  const labels = args.labels
  const distances = args.distances
  const width = args.width
  const row = scratch + args.rowAt
  const group = scratch + args.groupAt
  const measures = scratch + args.measuresAt
  const queue = scratch + args.queueAt
  const seen = scratch + args.seenAt
  const seenBytes: usize = ((<usize>args.count + 31) >> 5) << 2
  for (let item = start; item < end; item++) {
    const i = args.order ? load<u32>(args.order + ((<usize>item) << 2)) : item
    unpackRow(points.at(i), points.kind, stride, row)
    // A centre is in one leaf of every tree: only with several can it come twice.
    if (roots > 1) memory.fill(seen, 0, seenBytes)
    let size: u32 = 0
    for (let root: u32 = 0; root < roots; root++) size = push(queue, size, 0, root)
    let best: f32 = <f32>Infinity
    let label: u32 = NO_LABEL
    let checked: u32 = 0
    let measured: u32 = 0
    while (size > 0 && checked < checks) {
      const rank = load<f32>(queue)
      let node = nodes + ((<usize>load<u32>(queue, 4)) << 4)
      size = pop(queue, size)
      let count = load<u32>(node, 4)
      while ((count & LEAF) === 0) {
        const first = load<u32>(node)
        let next: u32
        if (nodeCenters !== 0) {
          next = first
          let nearest: f32 = 0
          for (let child: u32 = 0; child < count; child++) {
            if ((child & 3) === 0) {
              const a = nodeCenters + <usize>(first + child) * bytes
              // A group that is not full measures its last node again.
              const b = a + <usize>min(1, count - 1 - child) * bytes
              const c = a + <usize>min(2, count - 1 - child) * bytes
              const d = a + <usize>min(3, count - 1 - child) * bytes
              fourDistances(row, a, b, c, d, stride, measures)
            }
            const discount = load<f32>(nodes + ((<usize>(first + child)) << 4), 12)
            const childRank = load<f32>(measures + ((<usize>(child & 3)) << 2)) - discount
            if (child === 0) {
              nearest = childRank
            } else if (childRank < nearest) {
              size = push(queue, size, nearest, next)
              nearest = childRank
              next = first + child
            } else {
              size = push(queue, size, childRank, first + child)
            }
          }
          measured += count
        } else {
          const gap = load<f32>(row + ((<usize>load<u32>(node, 8)) << 2)) - load<f32>(node, 12)
          const right: u32 = gap < 0 ? 0 : 1
          next = first + right
          size = push(queue, size, rank + gap * gap, first + 1 - right)
        }
        node = nodes + ((<usize>next) << 4)
        count = load<u32>(node, 4)
      }
      const place = args.items + ((<usize>load<u32>(node)) << 2)
      count &= ~LEAF
      const room = width ? width - checked : <u32>0xffffffff
      let found: u32 = 0
      let at: u32 = 0
      while (at < count && found < room) {
        let held: u32 = 0
        for (; at < count && held < 4 && found < room; at++) {
          const center = load<u32>(place + ((<usize>at) << 2))
          if (roots > 1) {
            const word = seen + ((<usize>(center >> 5)) << 2)
            const bit: u32 = (<u32>1) << (center & 31)
            const bits = load<u32>(word)
            if (bits & bit) continue
            store<u32>(word, bits | bit)
          }
          store<u32>(group + ((<usize>held) << 2), center)
          held++
          found++
        }
        if (held === 0) break
        measureFew(row, centers, stride, group, held, measures)
        for (let other: u32 = 0; other < held; other++) {
          const center = load<u32>(group + ((<usize>other) << 2))
          const distance = load<f32>(measures + ((<usize>other) << 2))
          if (width) {
            const slot = (<usize>i * width + checked) << 2
            store<u32>(labels + slot, center)
            store<f32>(distances + slot, distance)
          }
          checked++
          if (distance < best || (distance === best && center < label)) {
            best = distance
            label = center
          }
        }
      }
    }
    const at = (<usize>i) << 2
    store<f32>(args.evaluated + at, <f32>(measured + checked))
    if (width) {
      for (let place = checked; place < width; place++) {
        store<u32>(labels + ((<usize>i * width + place) << 2), NO_LABEL)
        store<f32>(distances + ((<usize>i * width + place) << 2), <f32>Infinity)
      }
      continue
    }
    if (args.merge && !(best < load<f32>(distances + at) && label !== load<u32>(labels + at))) continue
    store<u32>(labels + at, label)
    store<f32>(distances + at, best)
  }
}

/** Adds to a binary heap, lowest rank first; gives the new size. */
function push(queue: usize, size: u32, rank: f32, node: u32): u32 {
  let at: u32 = size
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = queue + ((<usize>parent) << 3)
    if (load<f32>(above) <= rank) break
    store<u64>(queue + ((<usize>at) << 3), load<u64>(above))
    at = parent
  }
  const place = queue + ((<usize>at) << 3)
  store<f32>(place, rank)
  store<u32>(place, node, 4)
  return size + 1
}

/** Takes the first away; gives the new size. */
function pop(queue: usize, size: u32): u32 {
  const left = size - 1
  const last = queue + ((<usize>left) << 3)
  const rank = load<f32>(last)
  const moved = load<u64>(last)
  let at: u32 = 0
  while (true) {
    let child: u32 = 2 * at + 1
    if (child >= left) break
    let below = queue + ((<usize>child) << 3)
    if (child + 1 < left && load<f32>(below, 8) < load<f32>(below)) {
      child++
      below += 8
    }
    if (load<f32>(below) >= rank) break
    store<u64>(queue + ((<usize>at) << 3), load<u64>(below))
    at = child
  }
  store<u64>(queue + ((<usize>at) << 3), moved)
  return left
}
