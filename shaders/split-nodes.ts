/**
 * Splitting the nodes of a partition tree on the device. Members of a node are ordered by projection, then by number; a
 * node is three words: first member, end, and the member at which to split.
 *
 * node-owners (one thread per member) writes the node of each point. split-nodes (one workgroup per node) reorders
 * members, so that everything before the split comes before everything from it on. A node of at most 256 members is sorted
 * by counting, for each member, how many come before it. In a larger one the last member of the left side is found by radix
 * selection, 8 bits a round, first of the projection, then of the number; members are then moved to their side in order.
 * Results do not depend on scheduling. Cost: about 8 reads a member.
 *
 * A workgroup alone with many members leaves the rest of a GPU idle. The largest nodes are therefore split by sorting all
 * points by projection (projection-keys), then by node (node-keys), with the sort of accumulate.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { nodeAccess } from './partition-tree.ts'
import { groupNumber, NONE, threadBuiltins, threadNumber } from './snippets.ts'

/** `keyOf`: unsigned numbers in the order of the floats; zeros of both signs are equal. */
const floatKey = wgsl`
fn keyOf(point: u32) -> u32 {
  let value = along[point];
  let bits = bitcast<u32>(select(value, 0.0, value == 0.0));
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}
`

export const SPLIT_THREADS = 256
const WORDS = SPLIT_THREADS / 32

export const nodeOwnersBody = (): string => wgsl`
${threadNumber}
${nodeAccess}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let slot = threadNumber(workgroup, groups, local);
  if (slot >= params.slots) { return; }
  // The last node that begins at or before this slot.
  var low = 0u;
  var high = params.count;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (nodeAt(middle).begin <= slot) { low = middle; } else { high = middle; }
  }
  let own = nodeAt(low);
  owners[members[slot]] = select(0u, low, slot >= own.begin && slot < own.end);
}
`

export const projectionKeysBody = (): string => wgsl`
${threadNumber}
${floatKey}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let point = threadNumber(workgroup, groups, local);
  if (point < params.count) { keys[point] = keyOf(point); }
}
`

export const nodeKeysBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let at = threadNumber(workgroup, groups, local);
  if (at < params.count) { keys[at] = owners[order[at]]; }
}
`

export const splitNodesBody = (): string => wgsl`
${NONE}
${groupNumber}
${nodeAccess}

// The last member of the left side: its key and its number.
struct Limit { key: u32, number: u32 }
struct Digit { value: u32, before: u32, count: u32 }
var<workgroup> keys: array<u32, WORKGROUP>;
var<workgroup> numbers: array<u32, WORKGROUP>;
var<workgroup> histogram: array<atomic<u32>, 256>;
var<workgroup> chosen: Digit;
var<workgroup> onLeft: array<atomic<u32>, ${WORDS}>;  // one bit for each member of a chunk

${floatKey}

fn isBefore(a: Limit, b: Limit) -> bool {
  return a.key < b.key || (a.key == b.key && a.number < b.number);
}

fn sortSmall(local: u32, begin: u32, size: u32) {
  var mine = Limit(NONE, NONE);
  if (local < size) {
    mine.number = members[begin + local];
    mine.key = keyOf(mine.number);
  }
  keys[local] = mine.key;
  numbers[local] = mine.number;
  workgroupBarrier();
  if (local >= size) { return; }
  var rank = 0u;
  for (var i = 0u; i < size; i++) { rank += u32(isBefore(Limit(keys[i], numbers[i]), mine)); }
  members[begin + rank] = mine.number;
}

// The digit of the member with this rank (from 1), of those counted in the histogram.
fn chooseDigit(local: u32, rank: u32) -> Digit {
  let count = atomicLoad(&histogram[local]);
  keys[local] = count;
  workgroupBarrier();
  for (var step = 1u; step < WORKGROUP; step *= 2u) {
    var sum = keys[local];
    if (local >= step) { sum += keys[local - step]; }
    workgroupBarrier();
    keys[local] = sum;
    workgroupBarrier();
  }
  let before = keys[local] - count;
  if (before < rank && rank <= keys[local]) { chosen = Digit(local, before, count); }
  return workgroupUniformLoad(&chosen);
}

// The member of a rank (from 1) by key, then number. Where all members that share the digits found so far are on the left
// side, the other digits are the largest.
fn select8(local: u32, begin: u32, end: u32, wantedRank: u32) -> Limit {
  var rank = wantedRank;
  var limit = Limit(0u, 0u);
  var known = Limit(0u, 0u);
  for (var round = 0u; round < 8u; round++) {
    let shift = 24u - 8u * (round % 4u);
    atomicStore(&histogram[local], 0u);
    workgroupBarrier();
    for (var at = begin + local; at < end; at += WORKGROUP) {
      let number = members[at];
      let key = keyOf(number);
      if ((key & known.key) == limit.key && (number & known.number) == limit.number) {
        let digits = select(number, key, round < 4u);
        atomicAdd(&histogram[(digits >> shift) & 255u], 1u);
      }
    }
    workgroupBarrier();
    let digit = chooseDigit(local, rank);
    rank -= digit.before;
    if (round < 4u) {
      limit.key |= digit.value << shift;
      known.key |= 255u << shift;
    } else {
      limit.number |= digit.value << shift;
      known.number |= 255u << shift;
    }
    if (rank == digit.count) { break; }
  }
  return Limit(limit.key | ~known.key, limit.number | ~known.number);
}

fn bitsBefore(word: u32, bits: u32, local: u32) -> u32 {
  if (word < local / 32u) { return countOneBits(bits); }
  return select(0u, countOneBits(bits & ((1u << (local % 32u)) - 1u)), word == local / 32u);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let node = groupNumber(workgroup, groups);
  if (node >= params.count) { return; }
  let own = nodeAt(node);
  let begin = own.begin;
  let end = own.end;
  let split = own.split;
  if (split <= begin || split >= end) { return; }
  if (end - begin <= WORKGROUP) {
    sortSmall(local, begin, end - begin);
    return;
  }
  let last = select8(local, begin, end, split - begin);
  var left = begin;
  var right = split;
  for (var first = begin; first < end; first += WORKGROUP) {
    if (local < ${WORDS}u) { atomicStore(&onLeft[local], 0u); }
    workgroupBarrier();
    let listed = first + local < end;
    var number = 0u;
    var isLeft = false;
    if (listed) {
      number = members[first + local];
      isLeft = !isBefore(last, Limit(keyOf(number), number));
      if (isLeft) { atomicOr(&onLeft[local / 32u], 1u << (local % 32u)); }
    }
    workgroupBarrier();
    var leftBefore = 0u;
    var leftCount = 0u;
    for (var word = 0u; word < ${WORDS}u; word++) {
      let leftBits = atomicLoad(&onLeft[word]);
      leftBefore += bitsBefore(word, leftBits, local);
      leftCount += countOneBits(leftBits);
    }
    if (listed) { moved[select(right + local - leftBefore, left + leftBefore, isLeft)] = number; }
    left += leftCount;
    right += min(end - first, WORKGROUP) - leftCount;
    workgroupBarrier();
  }
  storageBarrier();
  workgroupBarrier();
  for (var at = begin + local; at < end; at += WORKGROUP) { members[at] = moved[at]; }
}
`
