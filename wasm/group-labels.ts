/** The candidates of a group of points that look at each other's clusters: a leaf of a tree, mostly. */
import { ALL_HELD } from './build/assembly/arguments'

export { ALL_HELD as ALL } from './build/assembly/arguments'

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

/** Places of a group of which all members are held, once for all groups: see placesInside. */
export function listPlaces(count: u32, out: usize): void {
  for (let place: u32 = 0; place < count; place++) store<u32>(out + ((<usize>place) << 2), place)
}

/**
 * Places in the group of the members that this device holds: rows `near` to `near + held` of those the
 * groups are made of. Returns how many. Where all are held, `out` has them from listPlaces.
 */
export function placesInside(members: usize, from: u32, to: u32, near: u32, held: u32, out: usize): u32 {
  if (held === ALL_HELD) return to - from
  let count: u32 = 0
  for (let at = from; at < to; at++) {
    // Below `near` the difference wraps around and is larger than any number of rows.
    if (load<u32>(members + ((<usize>at) << 2)) - near >= held) continue
    store<u32>(out + ((<usize>count) << 2), at - from)
    count++
  }
  return count
}

/** The row of a member that is inside, by its place in the group. */
export function rowAt(members: usize, from: u32, place: u32, near: u32): u32 {
  return load<u32>(members + ((<usize>(from + place)) << 2)) - near
}

/** A candidate of a group, by its turn: they begin with number `turn`. Without a list, all clusters are candidates. */
export function candidateAt(list: usize, j: u32, turn: u32, count: u32): u32 {
  const place = j + turn < count ? j + turn : j + turn - count
  return list ? load<u32>(list + ((<usize>place) << 2)) : place
}
