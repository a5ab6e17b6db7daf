/** The candidates of a group of points that look at each other's clusters: a leaf of a tree, mostly. */

/** Different labels of the group's points, in order of appearance. */
export function collectLabels(members: usize, labels: usize, from: u32, to: u32, out: usize): u32 {
  let count: u32 = 0
  for (let at = from; at < to; at++) {
    const point = load<u32>(members + ((<usize>at) << 2))
    const label = load<u32>(labels + ((<usize>point) << 2))
    let seen: u32 = 0
    while (seen < count && load<u32>(out + ((<usize>seen) << 2)) !== label) seen++
    if (seen < count) continue
    store<u32>(out + ((<usize>count) << 2), label)
    count++
  }
  return count
}
