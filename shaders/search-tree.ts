/**
 * Approximate nearest centre by best-bin-first search, as in wasm/search-tree.ts, with two differences
 * a thread's private memory asks for: the queue holds `capacity` nodes (a full one gives up its last
 * place to a nearer node), and a centre met in several k-d trees is measured each time.
 * One thread a point.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const searchTreeShader = (type: ElementType, capacity: number): Shader => ({
  name: `search-tree-${type}-${capacity}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
  roots: u32,
  checks: u32,
  merge: u32,
  ranked: u32,
  width: u32,  // above 0: list all centres measured; a full list ends the search
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> nodes: array<vec4u>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
@group(0) @binding(4) var<storage, read> nodeCenters: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> labels: array<u32>;
@group(0) @binding(6) var<storage, read_write> distances: array<f32>;
@group(0) @binding(7) var<storage, read_write> looked: array<f32>;
@group(0) @binding(8) var<uniform> params: Params;
${threadNumber}

const NONE = 0xffffffffu;
const FAR = 3.4e38f;
const LEAF = 0x80000000u;
const CAPACITY = ${capacity}u;

var<private> ranks: array<f32, ${capacity}>;
var<private> queued: array<u32, ${capacity}>;
var<private> size: u32;

fn push(rank: f32, node: u32) {
  var at = size;
  if (size == CAPACITY) {
    at = CAPACITY - 1u;
    if (ranks[at] <= rank) { return; }
  } else {
    size++;
  }
  while (at > 0u) {
    let parent = (at - 1u) / 2u;
    if (ranks[parent] <= rank) { break; }
    ranks[at] = ranks[parent];
    queued[at] = queued[parent];
    at = parent;
  }
  ranks[at] = rank;
  queued[at] = node;
}

fn pop() {
  size--;
  let rank = ranks[size];
  let node = queued[size];
  var at = 0u;
  loop {
    var child = 2u * at + 1u;
    if (child >= size) { break; }
    if (child + 1u < size && ranks[child + 1u] < ranks[child]) { child++; }
    if (ranks[child] >= rank) { break; }
    ranks[at] = ranks[child];
    queued[at] = queued[child];
    at = child;
  }
  ranks[at] = rank;
  queued[at] = node;
}

fn toCenter(row: u32, center: u32) -> f32 {
  var distance = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - centers[center * params.quads + t];
    distance += dot(gap, gap);
  }
  return distance;
}

fn toNode(row: u32, node: u32) -> f32 {
  var distance = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - nodeCenters[node * params.quads + t];
    distance += dot(gap, gap);
  }
  return distance;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  size = 0u;
  for (var root = 0u; root < params.roots; root++) { push(0.0, root); }
  var best = FAR;
  var label = NONE;
  var checked = 0u;
  var measured = 0u;
  while (size > 0u && checked < params.checks) {
    let rank = ranks[0];
    var node = nodes[queued[0]];
    pop();
    while ((node.y & LEAF) == 0u) {
      var next = node.x;
      if (params.ranked == 1u) {
        var nearest = toNode(row, next);
        for (var child = node.x + 1u; child < node.x + node.y; child++) {
          let distance = toNode(row, child);
          if (distance < nearest) {
            push(nearest, next);
            nearest = distance;
            next = child;
          } else {
            push(distance, child);
          }
        }
        measured += node.y;
      } else {
        let column = node.z;
        let gap = xPart(row, column / 4u, params.quads)[column % 4u] - bitcast<f32>(node.w);
        let right = select(1u, 0u, gap < 0.0);
        next = node.x + right;
        push(rank + gap * gap, node.x + 1u - right);
      }
      node = nodes[next];
    }
    let count = node.y & ~LEAF;
    for (var at = 0u; at < count; at++) {
      let center = items[node.x + at];
      if (params.width > 0u && checked == params.width) { break; }
      let distance = toCenter(row, center);
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
  }
  looked[row] = f32(measured + checked);
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
`,
})
