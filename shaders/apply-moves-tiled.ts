/**
 * apply-moves for GPUs: one workgroup of 256 threads applies up to 32 moves at a time, 8 threads each, with the result of
 * applying all of them one after the other.
 *
 * Up to 256 proposed moves are gathered in the order of their places. Then, turn by turn, every pending move claims its two
 * clusters with its place (atomicMin), and the moves that hold both claims are measured and applied. A move that holds both
 * comes before every other pending move of either cluster. So each cluster sees its moves in order, moves of one turn touch
 * different clusters, and results do not depend on scheduling, bit for bit. The first pending move always holds its claims.
 * Claims are kept in a table by cluster number modulo SLOTS: two clusters that share a slot can only make a move wait.
 *
 * Cost: about 12 d operations a move; the number of turns is the longest chain of moves that share clusters.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { costs, LEAST_GAIN } from './move-costs.ts'
import { NONE } from './snippets.ts'

export const APPLY_THREADS = 256
/** Threads that share the columns of a move. */
const LANES = 8
const TEAMS = APPLY_THREADS / LANES
const SLOTS = 1024
/** Places that each thread reads at a time. */
const READS = 4
const WORDS = (READS * APPLY_THREADS) / 32

export const applyMovesTiles = (type: ElementType): string => wgsl`
${costs(type)}

${NONE}

struct Gathered { moves: u32, nextPlace: u32 }
var<workgroup> gathered: Gathered;
var<workgroup> present: array<atomic<u32>, ${WORDS}>;  // one bit for each place read: a move is proposed
var<workgroup> movePoint: array<u32, WORKGROUP>;
var<workgroup> moveOwn: array<u32, WORKGROUP>;
var<workgroup> moveWanted: array<u32, WORKGROUP>;
var<workgroup> claims: array<atomic<u32>, ${SLOTS}>;
var<workgroup> ready: array<u32, WORKGROUP>;    // moves that hold both claims
var<workgroup> readyCounter: atomic<u32>;
var<workgroup> readyCount: u32;
var<workgroup> sums: array<vec4f, WORKGROUP>;

// The next moves from a place on, in order: as many as there is room for.
fn gather(local: u32, firstPlace: u32) -> Gathered {
  var found = Gathered(0u, firstPlace);
  let bit = 1u << (local % 32u);
  while (found.moves < WORKGROUP && found.nextPlace < params.places) {
    if (local < ${WORDS}u) { atomicStore(&present[local], 0u); }
    if (local == 0u) { gathered.nextPlace = found.nextPlace + ${READS * APPLY_THREADS}u; }
    workgroupBarrier();
    var wanted = vec4u(NONE);
    for (var j = 0u; j < ${READS}u; j++) {
      let place = found.nextPlace + j * WORKGROUP + local;
      if (place < params.places) { wanted[j] = proposals[place]; }
      if (wanted[j] != NONE) { atomicOr(&present[j * ${APPLY_THREADS / 32}u + local / 32u], bit); }
    }
    workgroupBarrier();
    var total = found.moves;
    var ranks = vec4u();
    for (var word = 0u; word < ${WORDS}u; word++) {
      let bits = atomicLoad(&present[word]);
      if (word % ${APPLY_THREADS / 32}u == local / 32u) {
        ranks[word / ${APPLY_THREADS / 32}u] = total + countOneBits(bits & (bit - 1u));
      }
      total += countOneBits(bits);
    }
    for (var j = 0u; j < ${READS}u; j++) {
      if (wanted[j] == NONE) { continue; }
      let place = found.nextPlace + j * WORKGROUP + local;
      if (ranks[j] < WORKGROUP) {
        movePoint[ranks[j]] = batch[params.firstPlace + place].x;
        moveWanted[ranks[j]] = wanted[j];
      } else if (ranks[j] == WORKGROUP) {
        gathered.nextPlace = place;
      }
    }
    if (local == 0u) { gathered.moves = min(total, WORKGROUP); }
    found = workgroupUniformLoad(&gathered);
  }
  return found;
}

// Sums over the threads of a team; all of them get the result.
fn addUp(mine: vec4f, local: u32) -> vec4f {
  sums[local] = mine;
  workgroupBarrier();
  var total = vec4f();
  for (var i = 0u; i < ${LANES}u; i++) { total += sums[(local / ${LANES}u) * ${LANES}u + i]; }
  workgroupBarrier();
  return total;
}

// Measures the move with this number as clusters stand now and applies it if it pays. NONE: nothing to do, for a team that
// only executes the barriers.
fn applyMove(local: u32, number: u32) {
  let lane = local % ${LANES}u;
  var point = 0u;
  var own = 0u;
  var wanted = 0u;
  var weight = 1.0;
  if (number != NONE) {
    point = movePoint[number];
    own = moveOwn[number];
    wanted = moveWanted[number];
    if (params.hasWeights == 1u) { weight = weights[point]; }
  }
  let massHere = clusters[own];
  let massThere = clusters[wanted];
  let allowed = number != NONE && wanted != own && mayLeave(massHere, weight, params.unit);
  let here = own * params.quads;
  let there = wanted * params.quads;
  let end = select(0u, params.quads, allowed);
  var mine = vec4f();
  for (var t = lane; t < end; t += ${LANES}u) {
    let part = xPart(point, t, params.quads);
    let a = part - centers[here + t];
    let b = part - centers[there + t];
    mine += vec4f(dot(a, a), dot(b, b), dot(part, part), 0.0);
  }
  let measured = addUp(mine, local);
  let stay = costToStay(measured.x, measured.z, massHere, weight, params.unit);
  let join = costToJoin(measured.y, measured.z, massThere, weight, params.unit);
  // Costs of unit vectors are differences of lengths: their errors are shares of the weight.
  let pays = allowed && stay - join > ${LEAST_GAIN} * select(stay, weight, params.unit == 1u);
  var leftHere = massHere.x - weight;
  var newThere = massThere.x + weight;
  if (params.unit == 0u) {
    if (pays) {
      for (var t = lane; t < end; t += ${LANES}u) {
        let part = xPart(point, t, params.quads);
        centers[here + t] -= (part - centers[here + t]) * (weight / leftHere);
        centers[there + t] += (part - centers[there + t]) * (weight / newThere);
      }
    }
  } else {
    var squares = vec4f();
    for (var t = lane; t < end; t += ${LANES}u) {
      let part = xPart(point, t, params.quads) * weight;
      let a = centers[here + t] * massHere.x - part;
      let b = centers[there + t] * massThere.x + part;
      squares += vec4f(dot(a, a), dot(b, b), 0.0, 0.0);
    }
    let lengths = sqrt(addUp(squares, local));
    leftHere = lengths.x;
    newThere = lengths.y;
    if (pays) {
      for (var t = lane; t < end; t += ${LANES}u) {
        let part = xPart(point, t, params.quads) * weight;
        centers[here + t] = (centers[here + t] * massHere.x - part) / max(leftHere, 1e-30);
        centers[there + t] = (centers[there + t] * massThere.x + part) / max(newThere, 1e-30);
      }
    }
  }
  if (pays && lane == 0u) {
    clusters[own] = vec2f(leftHere, massHere.y - 1.0);
    clusters[wanted] = vec2f(newThere, massThere.y + 1.0);
    labels[point] = wanted;
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  for (var slot = local; slot < ${SLOTS}u; slot += WORKGROUP) { atomicStore(&claims[slot], NONE); }
  // Claims of later turns are lower numbers, so the table need not be cleared between turns.
  var turnsLeft = 0xfffffeu;
  var place = 0u;
  while (place < params.places) {
    let found = gather(local, place);
    place = found.nextPlace;
    var pending = local < found.moves;
    for (var left = found.moves; left > 0u; ) {
      let claim = (turnsLeft << 8u) | local;
      var own = 0u;
      var wanted = 0u;
      if (pending) {
        wanted = moveWanted[local];
        // An earlier move of the same point may have changed its label.
        own = labels[movePoint[local]];
        moveOwn[local] = own;
        atomicMin(&claims[own % ${SLOTS}u], claim);
        atomicMin(&claims[wanted % ${SLOTS}u], claim);
      }
      if (local == 0u) { atomicStore(&readyCounter, 0u); }
      workgroupBarrier();
      if (pending && atomicLoad(&claims[own % ${SLOTS}u]) == claim && atomicLoad(&claims[wanted % ${SLOTS}u]) == claim) {
        pending = false;
        ready[atomicAdd(&readyCounter, 1u)] = local;
      }
      workgroupBarrier();
      if (local == 0u) { readyCount = atomicLoad(&readyCounter); }
      let count = workgroupUniformLoad(&readyCount);
      for (var first = 0u; first < count; first += ${TEAMS}u) {
        let at = first + local / ${LANES}u;
        var number = NONE;
        if (at < count) { number = ready[at]; }
        applyMove(local, number);
      }
      storageBarrier();
      workgroupBarrier();
      left -= count;
      turnsLeft--;
    }
  }
}
`
