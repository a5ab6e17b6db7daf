/**
 * `principal-directions` for GPUs: one workgroup per node. The first levels of a tree have few nodes, and a thread for each
 * of them would leave the GPU idle while it waits for one load after the other.
 *
 * Members of the sample are taken 64 at a time. Eight lanes read a row together for dot products; sums over members are made
 * by column, four columns a lane, so that neighbouring lanes read neighbouring memory in both.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { directionPieces } from './partition-tree.ts'
import { groupNumber, THREADS, threadBuiltins } from './snippets.ts'

/** Lanes that read a row together: 128 bytes of floats at a time. */
const ROW_LANES = 8

export const directionsTiledBody = (): string => wgsl`
${groupNumber}
${directionPieces}

const ROW_LANES = ${ROW_LANES}u;
const AT_ONCE = WORKGROUP / ROW_LANES;  // rows that are read at a time

var<workgroup> rows: array<u32, WORKGROUP>;
var<workgroup> partials: array<f32, ${THREADS * ROW_LANES}>;  // [row][lane]
var<workgroup> weights: array<f32, WORKGROUP>;

fn sumOfPartials(first: u32, count: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < count; i++) { sum += partials[first + i]; }
  return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let node = groupNumber(workgroup, groups);
  if (node >= params.count) { return; }
  let quads = params.quads;
  let own = sampleOf(node);
  let count = own.count;
  let mean = own.mean;
  let sum = mean + quads;
  let direction = own.direction;

  for (var t = local; t < quads; t += WORKGROUP) { notes[mean + t] = vec4f(); }
  for (var base = 0u; base < count; base += WORKGROUP) {
    let here = min(WORKGROUP, count - base);
    workgroupBarrier();
    if (local < here) { rows[local] = sampled(own, base + local); }
    workgroupBarrier();
    for (var t = local; t < quads; t += WORKGROUP) {
      var total = notes[mean + t];
      for (var s = 0u; s < here; s++) { total += xPart(rows[s], t, quads); }
      notes[mean + t] = total;
    }
  }
  for (var t = local; t < quads; t += WORKGROUP) { notes[mean + t] /= f32(count); }
  storageBarrier();
  weights[local] = f32(firstTurn(own, local, WORKGROUP));
  workgroupBarrier();
  var turn = f32(count);
  for (var lane = 0u; lane < WORKGROUP; lane++) { turn = min(turn, weights[lane]); }
  beginDirection(own, u32(turn), local, WORKGROUP);

  for (var step = 0u; step < params.steps; step++) {
    storageBarrier();
    for (var t = local; t < quads; t += WORKGROUP) { notes[sum + t] = vec4f(); }
    for (var base = 0u; base < count; base += WORKGROUP) {
      let here = min(WORKGROUP, count - base);
      workgroupBarrier();
      if (local < here) { rows[local] = sampled(own, base + local); }
      workgroupBarrier();
      for (var begun = 0u; begun < here; begun += AT_ONCE) {
        let s = begun + local / ROW_LANES;
        var partial = 0.0;
        if (s < here) {
          for (var t = local % ROW_LANES; t < quads; t += ROW_LANES) {
            partial += dot(xPart(rows[s], t, quads) - notes[mean + t], directions[direction + t]);
          }
        }
        partials[begun * ROW_LANES + local] = partial;
      }
      workgroupBarrier();
      if (local < here) { weights[local] = sumOfPartials(local * ROW_LANES, ROW_LANES); }
      workgroupBarrier();
      for (var t = local; t < quads; t += WORKGROUP) {
        let center = notes[mean + t];
        var total = notes[sum + t];
        for (var s = 0u; s < here; s++) { total += weights[s] * (xPart(rows[s], t, quads) - center); }
        notes[sum + t] = total;
      }
    }
    var largest = vec4f();
    for (var t = local; t < quads; t += WORKGROUP) { largest = max(largest, abs(notes[sum + t])); }
    workgroupBarrier();
    weights[local] = max(max(largest.x, largest.y), max(largest.z, largest.w));
    workgroupBarrier();
    var most = 0.0;
    for (var i = 0u; i < WORKGROUP; i++) { most = max(most, weights[i]); }
    let unit = unitOf(most);
    var squares = 0.0;
    for (var t = local; t < quads; t += WORKGROUP) {
      let scaled = notes[sum + t] * unit;
      notes[sum + t] = scaled;
      squares += dot(scaled, scaled);
    }
    partials[local] = squares;
    workgroupBarrier();
    let scale = inverseSqrt(sumOfPartials(0u, WORKGROUP));
    // Where all rows of the sample are equal, any direction serves: the one before is kept.
    if (most > 0.0) {
      for (var t = local; t < quads; t += WORKGROUP) { directions[direction + t] = notes[sum + t] * scale; }
    }
  }
}
`
