/**
 * The best codes so far of one query: a heap of at most `most` slots whose top is the farthest, ties by the higher id. Slots,
 * distances and the place of the list each came from (`owners`) are three arrays that move together.
 */

@unmanaged
export class CodeHeap {
  /** The id of every slot. */
  ids: usize
  most: u32
  /** Nothing farther comes in. */
  within: f32
  slots: usize
  distances: usize
  owners: usize
  size: u32
  /** The list that codes come from now. */
  owner: u32

  /** What a code must not be farther than to come in. */
  @inline get limit(): f32 {
    return this.size < this.most ? this.within : load<f32>(this.distances)
  }

  insert(distance: f32, slot: u32): void {
    const size = this.size
    if (size < this.most) {
      this.put(<usize>size, distance, slot)
      this.size = size + 1
      this.rise(<usize>size)
      return
    }
    const limit = load<f32>(this.distances)
    if (distance > limit) return
    if (distance === limit && load<u32>(this.ids + ((<usize>slot) << 2)) > this.idAt(0)) return
    this.put(0, distance, slot)
    this.fall(0, <usize>size)
  }

  /** From any order to nearest first, ties to the lower id. */
  sort(): void {
    const size = this.size
    for (let place = <i32>(size >> 1) - 1; place >= 0; place--) this.fall(<usize>place, <usize>size)
    for (let left = <i32>size - 1; left > 0; left--) {
      this.swap(0, <usize>left)
      this.fall(0, <usize>left)
    }
  }

  /** Whether the entry at `a` goes out before the one at `b`. */
  private farther(a: usize, b: usize): bool {
    const left = load<f32>(this.distances + (a << 2))
    const right = load<f32>(this.distances + (b << 2))
    if (left !== right) return left > right
    return this.idAt(a) > this.idAt(b)
  }

  private idAt(place: usize): u32 {
    return load<u32>(this.ids + ((<usize>load<u32>(this.slots + (place << 2))) << 2))
  }

  private rise(place: usize): void {
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!this.farther(place, parent)) return
      this.swap(place, parent)
      place = parent
    }
  }

  private fall(place: usize, size: usize): void {
    for (;;) {
      let child: usize = 2 * place + 1
      if (child >= size) return
      if (child + 1 < size && this.farther(child + 1, child)) child++
      if (!this.farther(child, place)) return
      this.swap(place, child)
      place = child
    }
  }

  private put(place: usize, distance: f32, slot: u32): void {
    store<f32>(this.distances + (place << 2), distance)
    store<u32>(this.slots + (place << 2), slot)
    store<u32>(this.owners + (place << 2), this.owner)
  }

  private swap(a: usize, b: usize): void {
    const left = a << 2
    const right = b << 2
    const distance = load<f32>(this.distances + left)
    const slot = load<u32>(this.slots + left)
    const owner = load<u32>(this.owners + left)
    store<f32>(this.distances + left, load<f32>(this.distances + right))
    store<u32>(this.slots + left, load<u32>(this.slots + right))
    store<u32>(this.owners + left, load<u32>(this.owners + right))
    store<f32>(this.distances + right, distance)
    store<u32>(this.slots + right, slot)
    store<u32>(this.owners + right, owner)
  }
}
