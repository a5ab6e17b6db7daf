/**
 * The lists of an inverted file that a query looks into: those of the nearest centres. Items are groups of four queries.
 *
 * Scores q . c - |c|^2 / 2 choose the lists (for inner products q . c), best first, ties to the lower list; the base of a chosen list is then measured by
 * differences. A score is the same sum in the same order whether a query is alone or in a group, so that results never depend
 * on which queries come together.
 */
import { NearestListsArgs } from './build/assembly/arguments'
import { scoreRowByPanels, scoreRowsByEight } from './score-rows'
import { dotProduct, squaredDistance } from './simd'

const GROUP: u32 = 4
/** Centres of four panels of eight: the panels of the whole are padded to that. */
const STEP: u32 = 32

export function nearestLists(start: u32, end: u32, scratch: usize, args: NearestListsArgs): void {
  const scores = scratch + args.scoresAt
  const few = scratch + args.fewAt
  const padded = (args.k + STEP - 1) & ~(STEP - 1)
  const scoreBytes = (<usize>padded) << 2
  for (let group = start; group < end; group++) {
    const first = group * GROUP
    const count = min(GROUP, args.rows - first)
    if (count === 1) scoreOne(first, args, padded, scores)
    else scoreFour(first, count, args, padded, scores, few)
    for (let i: u32 = 0; i < count; i++) {
      const row = first + i
      choose(row, args, scores + <usize>i * scoreBytes)
      measure(row, args)
      project(row, args)
    }
  }
}

function rowOf(row: u32, args: NearestListsArgs): usize {
  return args.queries + ((<usize>row * args.stride) << 2)
}

function scoreOne(row: u32, args: NearestListsArgs, padded: u32, scores: usize): void {
  const panelBytes = (<usize>args.stride + 1) << 5
  let panel = args.panels
  for (let center: u32 = 0; center < padded; center += STEP) {
    scoreRowByPanels(rowOf(row, args), panel, panelBytes, args.stride, scores + ((<usize>center) << 2))
    panel += panelBytes << 2
  }
}

function scoreFour(first: u32, count: u32, args: NearestListsArgs, padded: u32, scores: usize, few: usize): void {
  const panelBytes = (<usize>args.stride + 1) << 5
  const scoreBytes = (<usize>padded) << 2
  const a = rowOf(first, args)
  const b = rowOf(first + 1, args)
  const c = count > 2 ? rowOf(first + 2, args) : b
  const d = count > 3 ? rowOf(first + 3, args) : b
  let panel = args.panels
  for (let center: usize = 0; center < scoreBytes; center += 32) {
    scoreRowsByEight(a, b, c, d, panel, args.stride, few)
    for (let i: usize = 0; i < <usize>count; i++) {
      const to = scores + i * scoreBytes + center
      v128.store(to, v128.load(few + (i << 5)))
      v128.store(to, v128.load(few + (i << 5), 16), 16)
    }
    panel += panelBytes
  }
}

/** The lists of the highest scores, in a heap whose top is the lowest of them, then sorted. */
function choose(row: u32, args: NearestListsArgs, scores: usize): void {
  const probe = args.probe
  const lists = args.lists + ((<usize>row * probe) << 2)
  const kept = args.bases + ((<usize>row * probe) << 2)
  for (let list: u32 = 0; list < probe; list++) {
    store<u32>(lists + ((<usize>list) << 2), list)
    store<f32>(kept + ((<usize>list) << 2), load<f32>(scores + ((<usize>list) << 2)))
  }
  for (let place = <i32>(probe >> 1) - 1; place >= 0; place--) sink(<u32>place, probe, lists, kept)
  let list = probe
  // Up to a multiple of four one by one.
  for (; list < args.k && (list & 3) !== 0; list++) offer(list, scores, probe, lists, kept)
  for (; list < args.k; list += 4) {
    const four = v128.load(scores + ((<usize>list) << 2))
    if (!v128.any_true(f32x4.gt(four, v128.load32_splat(kept)))) continue
    const last = min(list + 4, args.k)
    for (let each = list; each < last; each++) offer(each, scores, probe, lists, kept)
  }
  for (let size = probe - 1; size > 0; size--) {
    const list = load<u32>(lists)
    const score = load<f32>(kept)
    const last = (<usize>size) << 2
    store<u32>(lists, load<u32>(lists + last))
    store<f32>(kept, load<f32>(kept + last))
    store<u32>(lists + last, list)
    store<f32>(kept + last, score)
    sink(0, size, lists, kept)
  }
}

/** Lists come in rising order, so that of equal scores the one that is there stays. */
function offer(list: u32, scores: usize, probe: u32, lists: usize, kept: usize): void {
  const score = load<f32>(scores + ((<usize>list) << 2))
  if (!(score > load<f32>(kept))) return
  store<u32>(lists, list)
  store<f32>(kept, score)
  sink(0, probe, lists, kept)
}

/** Whether the entry at `a` goes out before the one at `b`: a lower score, or as low with a higher number. */
function worse(a: usize, b: usize, lists: usize, kept: usize): bool {
  const left = load<f32>(kept + (a << 2))
  const right = load<f32>(kept + (b << 2))
  return left < right || (left === right && load<u32>(lists + (a << 2)) > load<u32>(lists + (b << 2)))
}

function sink(from: u32, size: u32, lists: usize, kept: usize): void {
  let at = <usize>from
  for (;;) {
    let child: usize = 2 * at + 1
    if (child >= <usize>size) return
    if (child + 1 < <usize>size && worse(child + 1, child, lists, kept)) child++
    if (!worse(child, at, lists, kept)) return
    const list = load<u32>(lists + (at << 2))
    const score = load<f32>(kept + (at << 2))
    store<u32>(lists + (at << 2), load<u32>(lists + (child << 2)))
    store<f32>(kept + (at << 2), load<f32>(kept + (child << 2)))
    store<u32>(lists + (child << 2), list)
    store<f32>(kept + (child << 2), score)
    at = child
  }
}

/** The part of the distance that all codes of a list share. */
function measure(row: u32, args: NearestListsArgs): void {
  const query = rowOf(row, args)
  const at = <usize>row * args.probe
  for (let place = at; place < at + <usize>args.probe; place++) {
    const list = load<u32>(args.lists + (place << 2))
    const center = args.centers + ((<usize>list * args.stride) << 2)
    const base = args.inner
      ? -dotProduct(query, 0, center, args.stride)
      : squaredDistance(query, 0, center, args.stride)
    store<f32>(args.bases + (place << 2), base)
  }
}

/** The query along the directions of the quantizer. */
function project(row: u32, args: NearestListsArgs): void {
  const query = rowOf(row, args)
  const out = args.projected + ((<usize>row * args.width) << 2)
  if (args.rotation === 0) {
    memory.copy(out, query, (<usize>args.width) << 2)
    return
  }
  for (let t: usize = 0; t < <usize>args.width; t++) {
    const direction = args.rotation + ((t * args.stride) << 2)
    store<f32>(out + (t << 2), dotProduct(query, 0, direction, args.stride))
  }
}
