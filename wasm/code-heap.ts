/**
 * The best codes so far of one query: a heap of at most `most` slots whose top is the farthest, ties by the higher id. Slots,
 * distances and the place of the list each came from (`owners`) are three arrays that move together.
 */

/** Whether the entry at `a` goes out before the one at `b`. */
function farther(ids: usize, slots: usize, distances: usize, a: usize, b: usize): bool {
  const left = load<f32>(distances + (a << 2))
  const right = load<f32>(distances + (b << 2))
  if (left !== right) return left > right
  return idAt(ids, slots, a) > idAt(ids, slots, b)
}

function idAt(ids: usize, slots: usize, place: usize): u32 {
  return load<u32>(ids + ((<usize>load<u32>(slots + (place << 2))) << 2))
}

/** What a code must not be farther than to come in. */
export function nearestOf(within: f32, most: u32, size: u32, distances: usize): f32 {
  return size < most ? within : load<f32>(distances)
}

/** Puts a code in; returns how many there are. */
export function insertCode(
  ids: usize,
  most: u32,
  distance: f32,
  slot: u32,
  owner: u32,
  slots: usize,
  distances: usize,
  owners: usize,
  size: u32,
): u32 {
  if (size < most) {
    put(<usize>size, distance, slot, owner, slots, distances, owners)
    rise(ids, slots, distances, owners, <usize>size)
    return size + 1
  }
  const limit = load<f32>(distances)
  if (distance > limit) return size
  if (distance === limit && load<u32>(ids + ((<usize>slot) << 2)) > idAt(ids, slots, 0)) return size
  put(0, distance, slot, owner, slots, distances, owners)
  fall(ids, slots, distances, owners, 0, <usize>size)
  return size
}

/** From any order to nearest first, ties to the lower id. */
export function sortCodes(ids: usize, slots: usize, distances: usize, owners: usize, size: u32): void {
  for (let place = <i32>(size >> 1) - 1; place >= 0; place--) {
    fall(ids, slots, distances, owners, <usize>place, <usize>size)
  }
  for (let left = <i32>size - 1; left > 0; left--) {
    swap(0, <usize>left, slots, distances, owners)
    fall(ids, slots, distances, owners, 0, <usize>left)
  }
}

function rise(ids: usize, slots: usize, distances: usize, owners: usize, place: usize): void {
  while (place > 0) {
    const parent = (place - 1) >> 1
    if (!farther(ids, slots, distances, place, parent)) return
    swap(place, parent, slots, distances, owners)
    place = parent
  }
}

function fall(ids: usize, slots: usize, distances: usize, owners: usize, place: usize, size: usize): void {
  for (;;) {
    let child: usize = 2 * place + 1
    if (child >= size) return
    if (child + 1 < size && farther(ids, slots, distances, child + 1, child)) child++
    if (!farther(ids, slots, distances, child, place)) return
    swap(place, child, slots, distances, owners)
    place = child
  }
}

function put(place: usize, distance: f32, slot: u32, owner: u32, slots: usize, distances: usize, owners: usize): void {
  store<f32>(distances + (place << 2), distance)
  store<u32>(slots + (place << 2), slot)
  store<u32>(owners + (place << 2), owner)
}

function swap(a: usize, b: usize, slots: usize, distances: usize, owners: usize): void {
  const left = a << 2
  const right = b << 2
  const distance = load<f32>(distances + left)
  const slot = load<u32>(slots + left)
  const owner = load<u32>(owners + left)
  store<f32>(distances + left, load<f32>(distances + right))
  store<u32>(slots + left, load<u32>(slots + right))
  store<u32>(owners + left, load<u32>(owners + right))
  store<f32>(distances + right, distance)
  store<u32>(slots + right, slot)
  store<u32>(owners + right, owner)
}
