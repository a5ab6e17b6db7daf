/** The passes of assign on WebGPU, for the nearest centre of dense rows: one generator for each form. */
import { assignBlocks, assignTiles, BLOCK_POINTS, centerStarts, TILE } from '../../shaders/assign.ts'
import { assignBytes, BYTES, packCenterBytes, sampleMean } from '../../shaders/assign-bytes.ts'
import { packCenters } from '../../shaders/assign-pack.ts'
import { assignListed, assignScalar, mergeSplits, SCALAR } from '../../shaders/assign-scalar.ts'
import { assignWideTiles, WIDE_TILE } from '../../shaders/assign-wide-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { ElementType } from '../core/matrix.ts'
import { type BufferPart, type ComputePass, type GpuTarget, type Shader, slice } from '../device/contract.ts'
import type { PassOptions } from '../device/declared-shader.ts'
import { type AssignForm, formOf } from '../device/forms.ts'
import { alignmentRows, cutForBinding, cutRows, gridFor, type Range, rowsWithin } from '../device/plan.ts'
import type { AssignArgs } from './assign.ts'
import {
  BYTES_FROM,
  BYTES_MOST_STRIDE,
  bytesLayout,
  packedCenters,
  packedLayout,
  splitCenters,
  unsureRows,
  type WorkspaceRange,
} from './assign-workspace.ts'
import { rowCuts, rowPasses } from './row-passes.ts'
import { denseType } from './rows.ts'
import { usableForm } from './usable-form.ts'

/** Fewer points of bytes do not fill a GPU; the scalar form divides the centres then. */
const BYTES_DEFAULT_ROWS = 16_384

type Passes = Generator<ComputePass>

/** Centres that are bound at once. */
interface Bound {
  readonly args: AssignArgs
  readonly range: Range
  readonly part: BufferPart
  /** Label of the first of them. */
  readonly firstLabel: number
  /** Earlier results are kept unless a centre is strictly nearer. */
  readonly merge: boolean
}

const FORMS: Record<AssignForm, (gpu: GpuTarget, bound: Bound) => Passes> = {
  blocks: (gpu, bound) =>
    unpacked(gpu, bound, { shader: assignBlocks(denseType(bound.args.points)), points: THREADS * BLOCK_POINTS }),
  tiles: (gpu, bound) =>
    unpacked(gpu, bound, { shader: assignTiles(denseType(bound.args.points)), points: TILE.points }),
  'wide-tiles': wideTiles,
  scalar,
  bytes,
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
      merge: range.start > 0 || (args.merge ?? false),
    })
  }
}

/** The form asked for, or the default of the device; where it does not apply, the next one. */
function formFor(gpu: GpuTarget, { points, centers }: AssignArgs): AssignForm {
  const named = (kernel: 'assign' | 'assignBytes') => formOf(gpu.forms, kernel, points.stride)
  const chosen = (points.type === 'u8' ? named('assignBytes') : undefined) ?? named('assign')
  let form = chosen ?? (!gpu.tiled ? 'blocks' : points.rows < BYTES_DEFAULT_ROWS ? 'scalar' : 'bytes')
  if (form === 'bytes') {
    const few = centers.rows < BYTES_FROM.centers || points.stride < BYTES_FROM.stride
    if (points.type !== 'u8' || few || points.stride > BYTES_MOST_STRIDE) form = 'scalar'
  }
  // A block of packed centres must fit a binding, and so must the longest list of unsure points.
  const fits = (bytes: number) => bytes <= gpu.limits.bindingBytes
  if (form === 'bytes' && !fits(bytesLayout(4 * BYTES.centers, points.stride).unsure.bytes)) form = 'scalar'
  if ((form === 'scalar' || form === 'bytes') && !fits(BYTES.centers * centers.stride * 4)) form = 'tiles'
  return usableForm(gpu, form, SLOWER, (one) => shadersOf(one, denseType(points), packedCenters(centers.rows).perLane))
}

/** What takes the place of a form whose shaders cannot be compiled: the next one. */
const SLOWER: readonly AssignForm[] = ['bytes', 'scalar', 'wide-tiles', 'tiles', 'blocks']

function shadersOf(form: AssignForm, type: ElementType, perLane: number): readonly Shader[] {
  if (form === 'blocks') return [assignBlocks(type)]
  if (form === 'tiles') return [assignTiles(type)]
  if (form === 'wide-tiles') return [assignWideTiles(type), mergeSplits(type)]
  if (form === 'scalar') return [packCenters, assignScalar(type, perLane), mergeSplits(type)]
  return [packCenters, sampleMean, packCenterBytes, assignBytes, exactBytes]
}

function centerRanges(gpu: GpuTarget, { centers }: AssignArgs, form: AssignForm): Range[] {
  const rowBytes = centers.stride * 4
  if (form !== 'scalar' && form !== 'bytes') return cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')
  // Whole blocks, because padding is bound too.
  const most = rowsWithin(gpu.limits.bindingBytes, rowBytes, 'centres')
  const align = alignmentRows(rowBytes, gpu.limits.bindingAlignment)
  return cutRows(centers.rows, most, Math.max(SCALAR.threads * 4, align))
}

/** Forms that read centres as they are. */
function* unpacked(
  gpu: GpuTarget,
  bound: Bound,
  { shader, points: perGroup }: { shader: ReturnType<typeof assignBlocks>; points: number },
): Passes {
  const { points, workspace } = bound.args
  const here = centersOf(bound)
  const starts = slice(workspace, 0, here * 4)
  yield startsPass(gpu, bound.part, points.stride, starts)
  yield* rowPasses(gpu, {
    rows: points.rows,
    perRow: 2 * here * points.stride,
    atLeast: perGroup * 4,
    pass: (row, rows) =>
      shader.pass(
        gpu,
        { ...assignArgs(bound, row, rows), starts },
        { items: rows, perGroup, share: shareDone(bound, row + rows) },
      ),
  })
}

/** starts: -|c|^2 / 2 of the centres of a binding. */
export function startsPass(gpu: GpuTarget, centers: BufferPart, stride: number, starts: BufferPart): ComputePass {
  const centerCount = starts.bytes / 4
  return centerStarts.pass(
    gpu,
    { centers, starts, centerCount, quads: stride / 4 },
    { items: centerCount, operations: centerCount * stride },
  )
}

function* scalar(gpu: GpuTarget, bound: Bound): Passes {
  const { perLane, block, padded } = packedCenters(centersOf(bound))
  const { packed, starts, partials } = workspaceParts(bound, padded)
  const shader = assignScalar(denseType(bound.args.points), perLane)
  yield packPass(gpu, bound, packed, starts)
  yield* splitPasses(gpu, bound, {
    points: SCALAR.points,
    centers: padded,
    block,
    partials,
    pass: (args, options) => shader.pass(gpu, { ...args, packed, starts }, options),
  })
}

function* wideTiles(gpu: GpuTarget, bound: Bound): Passes {
  const { points } = bound.args
  const { packed, partials } = workspaceParts(bound, packedCenters(centersOf(bound)).padded)
  const starts = slice(packed, 0, centersOf(bound) * 4)
  const shader = assignWideTiles(denseType(points))
  yield startsPass(gpu, bound.part, points.stride, starts)
  yield* splitPasses(gpu, bound, {
    points: WIDE_TILE.points,
    centers: centersOf(bound),
    block: WIDE_TILE.centers,
    partials,
    pass: (args, options) => shader.pass(gpu, { ...args, starts }, options),
  })
}

const exactBytes = assignListed(BYTES.centers / SCALAR.threads)

/** Integer scores; then the exact form for the points that they leave unsure. How many, the host need not know. */
function* bytes(gpu: GpuTarget, bound: Bound): Passes {
  const { points, workspace } = bound.args
  const centerCount = centersOf(bound)
  const padded = Math.ceil(centerCount / BYTES.centers) * BYTES.centers
  const quads = points.stride / 4
  const layout = bytesLayout(padded, points.stride)
  const part = ({ offset, bytes }: WorkspaceRange) => slice(workspace, offset, bytes)
  const [packed, starts, mean, unsure] = [layout.packed, layout.starts, layout.mean, layout.unsure].map(part)
  const [bytePacked, byteStarts] = [layout.bytePacked, layout.byteStarts].map(part)
  yield packPass(gpu, bound, packed, starts)
  const centers = { centers: bound.part, centerCount, quads, mean, unsure }
  yield sampleMean.pass(gpu, centers, { items: quads })
  yield packCenterBytes.pass(
    gpu,
    { ...centers, packed: bytePacked, starts: byteStarts, padded },
    { items: padded, operations: padded * points.stride },
  )
  const perRow = 2 * centerCount * points.stride
  let counter = 0
  const atLeast = BYTES.points * 4
  for (const { first, count } of rowCuts(gpu, { rows: points.rows, perRow, atLeast, atMost: unsureRows(padded) })) {
    const args = { ...assignArgs(bound, first, count), padded, counter, unsure }
    const grid = { items: count, perGroup: BYTES.points }
    yield assignBytes.pass(
      gpu,
      { ...args, packed: bytePacked, starts: byteStarts, mean },
      { ...grid, operations: count * perRow },
    )
    // As many workgroups as if all were unsure; most find nothing to do.
    yield exactBytes.pass(gpu, { ...args, packed, starts }, { ...grid, share: shareDone(bound, first + count) })
    counter = 1 - counter
  }
}

/** What shaders with SPLIT_PARAMS and partials are given. */
type SplitArgs = Parameters<ReturnType<typeof mergeSplits>['pass']>[1]

interface SplitForm {
  /** Points of a workgroup. */
  readonly points: number
  /** Centres to score, padding included where they are padded. */
  readonly centers: number
  /** Centres that a workgroup scores at once. */
  readonly block: number
  readonly partials: BufferPart
  pass(args: SplitArgs, options: PassOptions): ComputePass
}

/** Rows by rows; where few rows leave a GPU idle, centres are divided among workgroups and the best are merged. */
function* splitPasses(gpu: GpuTarget, bound: Bound, form: SplitForm): Passes {
  const { points } = bound.args
  const perRow = 2 * centersOf(bound) * points.stride
  for (const { first, count } of rowCuts(gpu, { rows: points.rows, perRow, atLeast: form.points * 4 })) {
    const { splits, each } = splitCenters(count, form)
    const args = {
      ...assignArgs(bound, first, count),
      padded: form.centers,
      splitCenters: each,
      splits,
      partials: form.partials,
    }
    const [x, y] = gridFor(count, form.points, gpu.limits.workgroups)
    const share = shareDone(bound, first + count)
    const options = { groups: [x, y, splits], operations: count * perRow } as const
    if (splits === 1) {
      yield form.pass(args, { ...options, share })
      continue
    }
    yield form.pass(args, options)
    yield mergeSplits(denseType(points)).pass(gpu, args, {
      items: count,
      operations: count * (splits + 3 * points.stride),
      share,
    })
  }
}

function packPass(gpu: GpuTarget, bound: Bound, packed: BufferPart, starts: BufferPart): ComputePass {
  const { stride } = bound.args.centers
  const padded = starts.bytes / 4
  return packCenters.pass(
    gpu,
    { centers: bound.part, packed, starts, centerCount: centersOf(bound), quads: stride / 4, padded },
    { items: padded, operations: padded * stride },
  )
}

function workspaceParts({ args }: Bound, padded: number) {
  const { packed, starts, partials } = packedLayout(padded, args.points.stride)
  const part = ({ offset, bytes }: WorkspaceRange) => slice(args.workspace, offset, bytes)
  return { packed: part(packed), starts: part(starts), partials: part(partials) }
}

/** Values of ASSIGN_PARAMS and of `assignBuffers` (shaders/assign-pieces.ts). */
function assignArgs(bound: Bound, firstRow: number, rows: number) {
  const { points, labels, distances } = bound.args
  return {
    x: points.buffer,
    centers: bound.part,
    labels,
    distances,
    firstRow,
    rows,
    quads: points.stride / 4,
    centerCount: centersOf(bound),
    firstCenter: bound.firstLabel,
    merge: bound.merge,
  }
}

function centersOf({ range }: Bound): number {
  return range.end - range.start
}

function shareDone({ args, range }: Bound, rows: number): number {
  return (range.start + ((range.end - range.start) * rows) / args.points.rows) / args.centers.rows
}
