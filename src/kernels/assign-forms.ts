/** The passes of assign on WebGPU, for the nearest centre of dense rows: one generator for each form. */
import { assignBlocks, assignTiles, BLOCK_POINTS, centerStarts, TILE } from '../../shaders/assign.ts'
import { packCenters } from '../../shaders/assign-pack.ts'
import { assignScalar, mergeSplits, SCALAR } from '../../shaders/assign-scalar.ts'
import { assignWideTiles, WIDE_TILE } from '../../shaders/assign-wide-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type BufferPart, type ComputePass, type GpuTarget, type Shader, slice } from '../device/contract.ts'
import type { AssignForm } from '../device/forms.ts'
import { alignmentRows, cutForBinding, cutRows, gridFor, type Range, rowsWithin } from '../device/plan.ts'
import type { AssignArgs } from './assign.ts'
import { packedCenters, packedLayout, splitCenters, type WorkspaceRange } from './assign-workspace.ts'
import { rowCuts, rowPasses } from './row-passes.ts'
import { denseType } from './rows.ts'

type Passes = Generator<ComputePass>

/** Centres that are bound at once. */
interface Bound {
  readonly args: AssignArgs
  readonly range: Range
  readonly part: BufferPart
  /** Label of the first of them. */
  readonly firstLabel: number
  /** 1 where earlier results are kept unless a centre is strictly nearer. */
  readonly merge: number
}

const FORMS: Record<Exclude<AssignForm, 'bytes'>, (gpu: GpuTarget, bound: Bound) => Passes> = {
  blocks: (gpu, bound) =>
    unpacked(gpu, bound, { shader: assignBlocks(denseType(bound.args.points)), points: THREADS * BLOCK_POINTS }),
  tiles: (gpu, bound) =>
    unpacked(gpu, bound, { shader: assignTiles(denseType(bound.args.points)), points: TILE.points }),
  'wide-tiles': wideTiles,
  scalar,
}

export function* assignNearestPasses(gpu: GpuTarget, args: AssignArgs): Passes {
  const { centers } = args
  const form = formFor(gpu, args)
  const rowBytes = centers.stride * 4
  for (const range of centerRanges(gpu, args, form)) {
    yield* FORMS[form](gpu, {
      args,
      range,
      part: slice(centers.buffer, range.start * rowBytes, (range.end - range.start) * rowBytes),
      firstLabel: (args.firstLabel ?? 0) + range.start,
      merge: range.start > 0 || args.merge ? 1 : 0,
    })
  }
}

/** The form asked for, or the default of the device, where it applies. */
function formFor(gpu: GpuTarget, { centers }: AssignArgs): Exclude<AssignForm, 'bytes'> {
  const wanted = gpu.forms.assign ?? (gpu.tiled ? 'scalar' : 'blocks')
  const form = wanted === 'bytes' ? 'scalar' : wanted
  // A block of packed centres must fit a binding.
  const fits = SCALAR.threads * 4 * centers.stride * 4 <= gpu.limits.bindingBytes
  return form === 'scalar' && !fits ? 'tiles' : form
}

function centerRanges(gpu: GpuTarget, { centers }: AssignArgs, form: AssignForm): Range[] {
  const rowBytes = centers.stride * 4
  if (form !== 'scalar') return cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')
  // Whole blocks, because padding is bound too.
  const most = rowsWithin(gpu.limits.bindingBytes, rowBytes, 'centres')
  const align = alignmentRows(rowBytes, gpu.limits.bindingAlignment)
  return cutRows(centers.rows, most, Math.max(SCALAR.threads * 4, align))
}

/** Forms that read centres as they are. */
function* unpacked(
  gpu: GpuTarget,
  bound: Bound,
  { shader, points: perGroup }: { shader: Shader; points: number },
): Passes {
  const { points, labels, distances, workspace } = bound.args
  const here = centersOf(bound)
  const starts = slice(workspace, 0, here * 4)
  yield startsPass(gpu, bound.part, points.stride, starts)
  yield* rowPasses(gpu, {
    rows: points.rows,
    perRow: 2 * here * points.stride,
    atLeast: perGroup * 4,
    pass: (row, rows) => ({
      shader,
      bindings: [points.buffer, bound.part, starts, labels, distances],
      params: commonParams(bound, row, rows),
      groups: gridFor(rows, perGroup, gpu.limits.workgroups),
      share: shareDone(bound, row + rows),
    }),
  })
}

/** starts: -|c|^2 / 2 of the centres of a binding. */
export function startsPass(gpu: GpuTarget, centers: BufferPart, stride: number, starts: BufferPart): ComputePass {
  const count = starts.bytes / 4
  return {
    shader: centerStarts,
    bindings: [centers, starts],
    params: [count, stride / 4],
    groups: gridFor(count, THREADS, gpu.limits.workgroups),
    operations: count * stride,
  }
}

function* scalar(gpu: GpuTarget, bound: Bound): Passes {
  const { points } = bound.args
  const { perLane, block, padded } = packedCenters(centersOf(bound))
  const { packed, starts, partials } = workspaceParts(bound, padded)
  yield packPass(gpu, bound, packed, starts)
  yield* splitPasses(gpu, bound, {
    shader: assignScalar(denseType(points), perLane),
    points: SCALAR.points,
    centers: padded,
    block,
    partials,
    prepared: [packed, starts],
  })
}

function* wideTiles(gpu: GpuTarget, bound: Bound): Passes {
  const { points } = bound.args
  const { packed, partials } = workspaceParts(bound, packedCenters(centersOf(bound)).padded)
  const starts = slice(packed, 0, centersOf(bound) * 4)
  yield startsPass(gpu, bound.part, points.stride, starts)
  yield* splitPasses(gpu, bound, {
    shader: assignWideTiles(denseType(points)),
    points: WIDE_TILE.points,
    centers: centersOf(bound),
    block: WIDE_TILE.centers,
    partials,
    prepared: [starts],
  })
}

interface SplitForm {
  readonly shader: Shader
  /** Points of a workgroup. */
  readonly points: number
  /** Centres to score, padding included where they are padded. */
  readonly centers: number
  /** Centres that a workgroup scores at once. */
  readonly block: number
  readonly partials: BufferPart
  /** Bindings of its own. */
  readonly prepared: readonly BufferPart[]
}

/** Rows by rows; where few rows leave a GPU idle, centres are divided among workgroups and the best are merged. */
function* splitPasses(gpu: GpuTarget, bound: Bound, form: SplitForm): Passes {
  const { points, labels, distances } = bound.args
  const perRow = 2 * centersOf(bound) * points.stride
  for (const { first, count } of rowCuts(gpu, { rows: points.rows, perRow, atLeast: form.points * 4 })) {
    const { splits, each } = splitCenters(count, form)
    const params = [...commonParams(bound, first, count), form.centers, each, splits]
    const common = [points.buffer, bound.part, labels, distances, form.partials]
    const [x, y] = gridFor(count, form.points, gpu.limits.workgroups)
    const share = shareDone(bound, first + count)
    yield {
      shader: form.shader,
      bindings: [...common, ...form.prepared],
      params,
      groups: [x, y, splits],
      operations: count * perRow,
      ...(splits === 1 ? { share } : {}),
    }
    if (splits === 1) continue
    yield {
      shader: mergeSplits(denseType(points)),
      bindings: common,
      params,
      groups: gridFor(count, THREADS, gpu.limits.workgroups),
      operations: count * (splits + 3 * points.stride),
      share,
    }
  }
}

function packPass(gpu: GpuTarget, bound: Bound, packed: BufferPart, starts: BufferPart): ComputePass {
  const { stride } = bound.args.centers
  const padded = starts.bytes / 4
  return {
    shader: packCenters,
    bindings: [bound.part, packed, starts],
    params: [centersOf(bound), stride / 4, padded],
    groups: gridFor(padded, THREADS, gpu.limits.workgroups),
    operations: padded * stride,
  }
}

function workspaceParts({ args }: Bound, padded: number) {
  const { packed, starts, partials } = packedLayout(padded, args.points.stride)
  const part = ({ offset, bytes }: WorkspaceRange) => slice(args.workspace, offset, bytes)
  return { packed: part(packed), starts: part(starts), partials: part(partials) }
}

function commonParams(bound: Bound, first: number, rows: number): number[] {
  return [first, rows, bound.args.points.stride / 4, centersOf(bound), bound.firstLabel, bound.merge]
}

function centersOf({ range }: Bound): number {
  return range.end - range.start
}

function shareDone({ args, range }: Bound, rows: number): number {
  return (range.start + ((range.end - range.start) * rows) / args.points.rows) / args.centers.rows
}
