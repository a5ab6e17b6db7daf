/**
 * Greedy k-means++: see src/kernels/plus-plus.ts. Points are taken in blocks of BLOCK, whose chances are sums of
 * weight * squared distance to the nearest centre. `kind` is 2 for sparse rows, whose values are at `x`.
 */
import { sparseDistance } from './assign-sparse'
import { loadFour, madd, rowBytes, sumLanes } from './simd'

const BLOCK: u32 = 64
const NONE: u32 = 0xffffffff
const FAR: f32 = 3.4e38
const SPARSE: u32 = 2

/** Where things are in the state, in bytes: as in shaders/plus-plus.ts. */
const CANDIDATES: usize = 16
const BLOCKS: usize = 80
const SKIPS: usize = 144
const SQUARES: usize = 208

/** One item: keeps the candidate that leaves the lowest potential, and draws the blocks of the next ones. */
export function choosePlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  potentials: usize,
  blocks: u32,
  considered: u32,
  trials: u32,
  step: u32,
  uniforms: usize,
  state: usize,
  chosen: usize,
): void {
  let best: u32 = 0
  let lowest: f64 = Infinity
  for (let t: u32 = 0; t < considered; t++) {
    let total: f64 = 0
    for (let block: u32 = 0; block < blocks; block++) {
      total += <f64>load<f32>(potentials + ((<usize>t * blocks + block) << 2))
    }
    if (total < lowest) {
      lowest = total
      best = t
    }
  }
  if (step === 0) store<u32>(state, NONE)
  else {
    store<u32>(state, best)
    store<u32>(chosen + ((<usize>(step - 1)) << 2), load<u32>(state + CANDIDATES + ((<usize>best) << 2)))
  }
  for (let t: u32 = 0; t < trials; t++) {
    const at = (<usize>t) << 2
    // Rounding can leave a rest at the end: the last block with a chance takes it.
    let rest = <f64>load<f32>(uniforms + ((<usize>step * trials + t) << 2)) * lowest
    let found = NONE
    let skip = FAR
    for (let block: u32 = 0; block < blocks; block++) {
      const sum = <f64>load<f32>(potentials + ((<usize>best * blocks + block) << 2))
      if (!(sum > 0)) continue
      found = block
      if (rest < sum) {
        skip = <f32>rest
        break
      }
      rest -= sum
    }
    store<u32>(state + CANDIDATES + at, NONE)
    store<u32>(state + BLOCKS + at, found)
    store<f32>(state + SKIPS + at, skip)
  }
}

/** Items are candidates: draws a point of the block, if that is one of this part, and copies its row. */
export function drawPlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  places: usize,
  columnsAt: u32,
  firstBlock: u32,
  firstRow: u32,
  rows: u32,
  weights: usize,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
): void {
  const best = load<u32>(state)
  const blocks = (rows + BLOCK - 1) / BLOCK
  for (let t = start; t < end; t++) {
    const place = (<usize>t) << 2
    const block = load<u32>(state + BLOCKS + place)
    if (block === NONE || block < firstBlock || block - firstBlock >= blocks) continue
    let rest = <f64>load<f32>(state + SKIPS + place)
    let found = NONE
    const first = (block - firstBlock) * BLOCK
    for (let row = first; row < min(first + BLOCK, rows); row++) {
      const at = (<usize>row) << 2
      let chance = load<f32>(nearest + at)
      if (best !== NONE) chance = min(chance, load<f32>(trial + ((<usize>best * rows + row) << 2)))
      const weighed = weights ? <f64>chance * <f64>load<f32>(weights + at) : <f64>chance
      if (!(weighed > 0)) continue
      found = row
      if (rest < weighed) break
      rest -= weighed
    }
    if (found === NONE) continue
    store<u32>(state + CANDIDATES + place, firstRow + found)
    const out = candidates + ((<usize>t * stride) << 2)
    if (kind === SPARSE) {
      store<f64>(state + SQUARES + (place << 1), expandRow(x, places, columnsAt, found, stride, out))
    } else {
      const row = x + <usize>found * rowBytes(stride, kind)
      for (let column: u32 = 0; column < stride; column += 4) {
        v128.store(out + ((<usize>column) << 2), loadFour(row, kind, column))
      }
    }
  }
}

/** A sparse row in full; returns its squared length. */
function expandRow(values: usize, places: usize, columnsAt: u32, row: u32, stride: u32, out: usize): f64 {
  for (let at: usize = 0; at < (<usize>stride) << 2; at += 16) v128.store(out + at, f32x4.splat(0))
  const to = <usize>load<u32>(places + ((<usize>row) << 2), 4)
  let square: f64 = 0
  for (let entry = <usize>load<u32>(places + ((<usize>row) << 2)); entry < to; entry++) {
    const value = load<f32>(values + (entry << 2))
    store<f32>(out + ((<usize>load<u32>(places + ((<usize>columnsAt + entry) << 2))) << 2), value)
    square += <f64>value * <f64>value
  }
  return square
}

/**
 * Items are blocks of the part. Takes the last centre over, then measures the candidates: distances, and the potential of
 * the block with each of them. Without candidates it gives the potential as it is. Scratch: 4 bytes a column.
 */
export function measurePlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  places: usize,
  columnsAt: u32,
  partBlock: u32,
  allBlocks: u32,
  rows: u32,
  weights: usize,
  nearest: usize,
  trial: usize,
  candidates: usize,
  trials: u32,
  potentials: usize,
  state: usize,
): void {
  const best = load<u32>(state)
  const columns = places + ((<usize>columnsAt) << 2)
  const lists = max<u32>(trials, 1)
  for (let block = start; block < end; block++) {
    const stop = min((block + 1) * BLOCK, rows)
    for (let row = block * BLOCK; row < stop; row++) {
      const at = (<usize>row) << 2
      let near = load<f32>(nearest + at)
      if (best !== NONE) {
        near = min(near, load<f32>(trial + ((<usize>best * rows + row) << 2)))
        store<f32>(nearest + at, near)
      }
      let floats = x
      if (trials > 0 && kind !== SPARSE) floats = rowAsFloats(x, kind, row, stride, scratch)
      for (let t: u32 = 0; t < trials; t++) {
        let distance = FAR
        const candidate = candidates + ((<usize>t * stride) << 2)
        if (load<u32>(state + CANDIDATES + ((<usize>t) << 2)) !== NONE) {
          if (kind === SPARSE) {
            const from = load<u32>(places + at)
            const to = load<u32>(places + at, 4)
            distance = sparseDistance(x, columns, from, to, candidate, load<f64>(state + SQUARES + ((<usize>t) << 3)))
          } else distance = boundedDistance(floats, candidate, stride, near)
        }
        store<f32>(trial + ((<usize>t * rows + row) << 2), distance)
      }
    }
    for (let t: u32 = 0; t < lists; t++) {
      let sum: f64 = 0
      for (let row = block * BLOCK; row < stop; row++) {
        const at = (<usize>row) << 2
        let value = load<f32>(nearest + at)
        if (trials > 0) value = min(value, load<f32>(trial + ((<usize>t * rows + row) << 2)))
        sum += weights ? <f64>value * <f64>load<f32>(weights + at) : <f64>value
      }
      store<f32>(potentials + ((<usize>t * allBlocks + partBlock + block) << 2), <f32>sum)
    }
  }
}

/** Bytes are made floats once, and then compared with every candidate. */
function rowAsFloats(x: usize, kind: u32, row: u32, stride: u32, scratch: usize): usize {
  const from = x + <usize>row * rowBytes(stride, kind)
  if (kind === 0) return from
  for (let column: u32 = 0; column < stride; column += 4) {
    v128.store(scratch + ((<usize>column) << 2), loadFour(from, kind, column))
  }
  return scratch
}

/**
 * Squared distance by differences; once it reaches the bound, what was summed so far. Most candidates are much farther
 * than the nearest centre, which shows after a part of the columns.
 */
function boundedDistance(row: usize, center: usize, stride: u32, bound: f32): f32 {
  const end = row + ((<usize>stride) << 2)
  let total: f32 = 0
  while (row + 128 <= end) {
    const a = f32x4.sub(v128.load(row), v128.load(center))
    const b = f32x4.sub(v128.load(row, 16), v128.load(center, 16))
    const c = f32x4.sub(v128.load(row, 32), v128.load(center, 32))
    const d = f32x4.sub(v128.load(row, 48), v128.load(center, 48))
    const e = f32x4.sub(v128.load(row, 64), v128.load(center, 64))
    const f = f32x4.sub(v128.load(row, 80), v128.load(center, 80))
    const g = f32x4.sub(v128.load(row, 96), v128.load(center, 96))
    const h = f32x4.sub(v128.load(row, 112), v128.load(center, 112))
    const ae = madd(e, e, f32x4.mul(a, a))
    const bf = madd(f, f, f32x4.mul(b, b))
    const cg = madd(g, g, f32x4.mul(c, c))
    const dh = madd(h, h, f32x4.mul(d, d))
    total += sumLanes(f32x4.add(f32x4.add(ae, bf), f32x4.add(cg, dh)))
    if (total >= bound) return total
    row += 128
    center += 128
  }
  if (row < end) {
    let sum = f32x4.splat(0)
    for (; row < end; row += 16) {
      const a = f32x4.sub(v128.load(row), v128.load(center))
      sum = madd(a, a, sum)
      center += 16
    }
    total += sumLanes(sum)
  }
  return total
}
