/**
 * Approximate nearest centre by best-bin-first search, as in wasm/search-tree.ts, with two differences:
 * the queue holds at most `capacity` nodes (a full one drops its last entry for a nearer node), and a centre that
 * several k-d trees contain is measured each time.
 *
 * Two forms with the same results. `searchTiledBody` is for hardware: LANES threads share a row and its queue in
 * workgroup memory; each measures another child or centre, and the first of them searches. `searchPrivateBody`
 * is for software adapters: one thread per row, without barriers, its queue in private memory.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { rowDistance } from './rows.ts'
import { FAR, groupNumber, NONE, threadBuiltins, threadNumber } from './snippets.ts'

/** Marks a leaf in the second word of a node. */
export const LEAF = 0x80000000

/** Queue entries of a workgroup: 8 KiB, so that several workgroups fit a compute unit. */
const GROUP_ENTRIES = 1024

/** Rows that a workgroup of the hardware form searches for. */
export function searchRowsPerGroup(capacity: number): number {
  return Math.max(1, Math.min(8, GROUP_ENTRIES / capacity))
}

const header = (type: ElementType, capacity: number): string => wgsl`
${rowDistance(type)}

${NONE}
${FAR}
const LEAF = ${LEAF}u;
const CAPACITY = ${capacity}u;

fn rankOf(row: u32, node: u32) -> f32 {
  var distance = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - nodeCenters[node * params.quads + t];
    distance += dot(gap, gap);
  }
  return distance - bitcast<f32>(nodes[node].w);
}
`

/** A heap of nodes, nearest first. The kernel defines ranks and nodes of the queue, as expressions of a place. */
const queue = (rank: (place: string) => string, node: (place: string) => string): string => wgsl`
var<private> size: u32;

fn push(newRank: f32, newNode: u32) {
  var at = size;
  if (size == CAPACITY) {
    at = CAPACITY - 1u;
    if (${rank('at')} <= newRank) { return; }
  } else {
    size++;
  }
  while (at > 0u) {
    let parent = (at - 1u) / 2u;
    if (${rank('parent')} <= newRank) { break; }
    ${rank('at')} = ${rank('parent')};
    ${node('at')} = ${node('parent')};
    at = parent;
  }
  ${rank('at')} = newRank;
  ${node('at')} = newNode;
}

fn pop() {
  size--;
  let lastRank = ${rank('size')};
  let lastNode = ${node('size')};
  var at = 0u;
  loop {
    var child = 2u * at + 1u;
    if (child >= size) { break; }
    if (child + 1u < size && ${rank('child + 1u')} < ${rank('child')}) { child++; }
    if (${rank('child')} >= lastRank) { break; }
    ${rank('at')} = ${rank('child')};
    ${node('at')} = ${node('child')};
    at = child;
  }
  ${rank('at')} = lastRank;
  ${node('at')} = lastNode;
}

/** The child of a k-d node on the side of the row; the other one is queued. */
fn descend(row: u32, rank: f32, node: vec4u) -> u32 {
  let column = node.z;
  let gap = xPart(row, column / 4u, params.quads)[column % 4u] - bitcast<f32>(node.w);
  let right = select(1u, 0u, gap < 0.0);
  push(rank + gap * gap, node.x + 1u - right);
  return node.x + right;
}
`

/** The best centre so far, or the list of all that were measured, and what is written in the end. */
const found = wgsl`
var<private> best: f32;
var<private> label: u32;
var<private> checked: u32;

fn take(row: u32, center: u32, distance: f32) {
  if (params.width > 0u) {
    labels[row * params.width + checked] = center;
    distances[row * params.width + checked] = distance;
  }
  checked++;
  if (distance < best || (distance == best && center < label)) {
    best = distance;
    label = center;
  }
}

fn finish(row: u32, measured: u32) {
  evaluated[row] = f32(measured + checked);
  if (params.width > 0u) {
    for (var place = checked; place < params.width; place++) {
      labels[row * params.width + place] = NONE;
      distances[row * params.width + place] = FAR;
    }
    return;
  }
  if (params.merge == 1u && !(best < distances[row] && label != labels[row])) { return; }
  labels[row] = label;
  distances[row] = best;
}
`

export const searchTiledBody = (type: ElementType, capacity: number): string => wgsl`
${header(type, capacity)}
${groupNumber}
const ROWS = ${searchRowsPerGroup(capacity)}u;
const LANES = WORKGROUP / ROWS;

var<workgroup> ranks: array<array<f32, ROWS>, CAPACITY>;
var<workgroup> queued: array<array<u32, ROWS>, CAPACITY>;
/** What the lanes of a row measure next: first item or node, how many of them, 1 for items. */
var<workgroup> wanted: array<vec3u, ROWS>;
var<workgroup> measures: array<array<f32, LANES>, ROWS>;
var<workgroup> numbers: array<array<u32, LANES>, ROWS>;
var<workgroup> running: u32;

var<private> slot: u32;
${queue(
  (place) => `ranks[${place}][slot]`,
  (place) => `queued[${place}][slot]`,
)}
${found}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  slot = local / LANES;
  let lane = local % LANES;
  let number = groupNumber(workgroup, groups) * ROWS + slot;
  let row = params.firstRow + number;
  let leads = lane == 0u && number < params.rows;

  // State of the search, in the first lane of a row: the node whose children or items are left to measure.
  var node = vec4u();
  var left = 0u;
  var nearest = FAR;
  var next = NONE;
  var measured = 0u;
  size = 0u;
  best = FAR;
  label = NONE;
  checked = 0u;
  if (leads) {
    for (var root = 0u; root < params.roots; root++) { push(0.0, root); }
  }

  loop {
    if (leads) {
      while (left == 0u && size > 0u && checked < params.checks) {
        let rank = ranks[0][slot];
        node = nodes[queued[0][slot]];
        pop();
        if (params.hasNodeCenters == 0u) {
          while ((node.y & LEAF) == 0u) { node = nodes[descend(row, rank, node)]; }
        }
        left = node.y & ~LEAF;
        next = NONE;
      }
    }
    if (lane == 0u) { wanted[slot] = vec3u(node.x, min(left, LANES), node.y / LEAF); }
    workgroupBarrier();
    if (local == 0u) {
      var most = 0u;
      for (var other = 0u; other < ROWS; other++) { most = max(most, wanted[other].y); }
      running = most;
    }
    if (workgroupUniformLoad(&running) == 0u) { break; }

    let job = wanted[slot];
    if (lane < job.y) {
      if (job.z == 1u) {
        let center = items[job.x + lane];
        numbers[slot][lane] = center;
        measures[slot][lane] = distanceTo(row, center);
      } else {
        numbers[slot][lane] = job.x + lane;
        measures[slot][lane] = rankOf(row, job.x + lane);
      }
    }
    workgroupBarrier();

    if (leads && left > 0u) {
      for (var at = 0u; at < job.y; at++) {
        let measure = measures[slot][at];
        let other = numbers[slot][at];
        if (job.z == 1u) {
          if (params.width > 0u && checked == params.width) { break; }
          take(row, other, measure);
        } else if (next == NONE) {
          nearest = measure;
          next = other;
        } else if (measure < nearest) {
          push(nearest, next);
          nearest = measure;
          next = other;
        } else {
          push(measure, other);
        }
      }
      node.x += job.y;
      left -= job.y;
      if (job.z == 0u) {
        measured += job.y;
        if (left == 0u) {
          node = nodes[next];
          left = node.y & ~LEAF;
          next = NONE;
        }
      }
    }
  }
  if (leads) { finish(row, measured); }
}
`

export const searchPrivateBody = (type: ElementType, capacity: number): string => wgsl`
${header(type, capacity)}
${threadNumber}

var<private> ranks: array<f32, CAPACITY>;
var<private> queued: array<u32, CAPACITY>;
${queue(
  (place) => `ranks[${place}]`,
  (place) => `queued[${place}]`,
)}
${found}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  size = 0u;
  for (var root = 0u; root < params.roots; root++) { push(0.0, root); }
  best = FAR;
  label = NONE;
  checked = 0u;
  var measured = 0u;
  while (size > 0u && checked < params.checks) {
    let rank = ranks[0];
    var node = nodes[queued[0]];
    pop();
    while ((node.y & LEAF) == 0u) {
      if (params.hasNodeCenters == 0u) {
        node = nodes[descend(row, rank, node)];
        continue;
      }
      var next = node.x;
      var nearest = rankOf(row, next);
      for (var child = node.x + 1u; child < node.x + node.y; child++) {
        let childRank = rankOf(row, child);
        if (childRank < nearest) {
          push(nearest, next);
          nearest = childRank;
          next = child;
        } else {
          push(childRank, child);
        }
      }
      measured += node.y;
      node = nodes[next];
    }
    let count = node.y & ~LEAF;
    for (var at = 0u; at < count; at++) {
      if (params.width > 0u && checked == params.width) { break; }
      let center = items[node.x + at];
      take(row, center, distanceTo(row, center));
    }
  }
  finish(row, measured);
}
`
