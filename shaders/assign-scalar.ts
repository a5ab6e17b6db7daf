/**
 * Nearest of all centres, scalar form, for hardware. A workgroup of 64 threads takes 16 points, which are the same for
 * all lanes: GPUs with a scalar unit load them into scalar registers, others broadcast them. Each lane owns up to 4
 * centres, so a thread keeps 16 x 4 scores in registers. The loop over the columns uses no workgroup memory.
 *
 * Few points do not fill a GPU, so the centres can be divided among several workgroups (the third dimension of the
 * grid). Each writes its best centre of every point, and `mergeSplits` finds the best of those.
 *
 * Scores and distances are those of shaders/assign.ts; each score is summed column by column. Cost: 2 n k d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { ShaderFeatures } from '../src/device/contract.ts'
import { bestScore, settling, UNSURE } from './assign-pieces.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'
import { COMPONENTS, unroll } from './unroll.ts'

/** Points of a workgroup and its threads. */
export const SCALAR = { points: 16, threads: 64 } as const
const POINTS = SCALAR.points
const LANES = SCALAR.threads

/** `perLane`: centres of a lane, 1, 2 or 4. `listed`: of points that come from a list of rows instead of a range. */
export const assignScalarBody = (
  type: ElementType,
  perLane: number,
  listed: boolean,
  { subgroups }: ShaderFeatures,
): string => {
  // Subgroups have at least 4 lanes; without subgroups every lane has a slot of its own.
  const slots = subgroups ? LANES / 4 : LANES
  return wgsl`
${bestScore}
${settling(type)}

var<workgroup> slotScores: array<f32, ${POINTS * slots}>;  // [slot][point]
var<workgroup> slotIndices: array<u32, ${POINTS * slots}>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
#if ${subgroups}
  @builtin(subgroup_size) lanes: u32,
  @builtin(subgroup_invocation_id) lane: u32,
#endif
) {
  let quads = params.quads;
  let first = (workgroup.y * groups.x + workgroup.x) * ${POINTS}u;
#if ${listed}
  let count = min(unsure[params.counter], params.rows);
  let end = select(0u, params.padded, first < count);  // No early return: barriers need all threads.
  let begin = 0u;
  // The next pass counts from zero.
  if (first == 0u && local == 0u) { unsure[params.counter ^ 1u] = 0u; }
${unroll(POINTS, (p) => `  let row${p} = unsure[${UNSURE.rows}u + min(first + ${p}u, max(count, 1u) - 1u)];`)}
#else
  let count = params.rows;
  let begin = workgroup.z * params.splitCenters;
  let end = min(begin + params.splitCenters, params.padded);
${unroll(POINTS, (p) => `  let row${p} = params.firstRow + min(first + ${p}u, count - 1u);`)}
#endif
${unroll(POINTS, (p) => `  var best${p} = LOWEST; var index${p} = 0u;`)}
  for (var base = begin; base < end; base += ${LANES * perLane}u) {
${unroll(perLane, (c) => `    let start${c} = starts[base + local + ${LANES * c}u];`)}
${unroll(POINTS, (p) => unroll(perLane, (c) => `    var s${p}_${c} = start${c};`, ' '))}
    for (var t = 0u; t < quads; t++) {
      let at = t * params.padded + base + local;
${unroll(perLane, (c) => `      let c${c} = packed[at + ${LANES * c}u];`)}
${unroll(
  POINTS,
  (p) => `      let x${p} = xPart(row${p}, t, quads);
${COMPONENTS.map((l) => unroll(perLane, (c) => `      s${p}_${c} = fma(x${p}.${l}, c${c}.${l}, s${p}_${c});`, ' ')).join('\n')}`,
)}
    }
    // Indices rise from lane centre to lane centre and from block to block: strictly greater keeps the lowest.
${unroll(POINTS, (p) =>
  unroll(
    perLane,
    (c) => `    if (s${p}_${c} > best${p}) { best${p} = s${p}_${c}; index${p} = base + local + ${LANES * c}u; }`,
  ),
)}
  }
#if ${subgroups}
  let slot = local / lanes;
  let slotCount = ${LANES}u / lanes;
${unroll(
  POINTS,
  (p) => `  let top${p} = subgroupMax(best${p});
  let lowest${p} = subgroupMin(select(0xffffffffu, index${p}, best${p} == top${p}));
  if (lane == 0u) { slotScores[slot * ${POINTS}u + ${p}u] = top${p}; slotIndices[slot * ${POINTS}u + ${p}u] = lowest${p}; }`,
)}
#else
  let slotCount = ${LANES}u;
${unroll(POINTS, (p) => `  slotScores[local * ${POINTS}u + ${p}u] = best${p}; slotIndices[local * ${POINTS}u + ${p}u] = index${p};`)}
#endif
  workgroupBarrier();
  if (local < ${POINTS}u && first + local < count) {
    var winner = Best(slotScores[local], slotIndices[local]);
    for (var s = 1u; s < slotCount; s++) {
      winner = prefer(winner, Best(slotScores[s * ${POINTS}u + local], slotIndices[s * ${POINTS}u + local]));
    }
#if ${listed}
    settle(unsure[${UNSURE.rows}u + first + local], winner.index);
#else
    if (params.splits == 1u) {
      settle(params.firstRow + first + local, winner.index);
    } else {
      partials[workgroup.z * count + first + local] = vec2u(bitcast<u32>(winner.score), winner.index);
    }
#endif
  }
}
`
}

/** The best of the splits, one thread per point. Splits come in rising order of centre: ties go to the first. */
export const mergeSplitsBody = ({ points }: { readonly points: ElementType }): string => wgsl`
${bestScore}
${settling(points)}
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let row = threadNumber(workgroup, groups, local);
  if (row >= params.rows) { return; }
  var winner = Best(LOWEST, 0u);
  for (var split = 0u; split < params.splits; split++) {
    let part = partials[split * params.rows + row];
    if (bitcast<f32>(part.x) > winner.score) { winner = Best(bitcast<f32>(part.x), part.y); }
  }
  settle(params.firstRow + row, winner.index);
}
`
