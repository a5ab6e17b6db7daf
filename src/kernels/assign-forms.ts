/** The passes of assign on WebGPU, for the nearest centre of dense rows: one generator for each form. */
import { BYTES } from '../../shaders/assign-bytes.ts'
import { SCALAR } from '../../shaders/assign-scalar.ts'
import { WIDE_TILE } from '../../shaders/assign-wide-tiles.ts'
import type { ElementType } from '../core/matrix.ts'
import { type BufferPart, type ComputePass, type GpuTarget, type Shader, slice } from '../device/contract.ts'
import { type AssignForm, formOf } from '../device/forms.ts'
import { alignmentRows, cutForBinding, cutRows, type Range, rowsWithin } from '../device/plan.ts'
import type { AssignArgs } from './assign.ts'
import {
  assignBytesKernel,
  assignKernel,
  assignListedKernel,
  assignScalarKernel,
  assignWideTilesKernel,
  centerStartsKernel,
  mergeSplitsKernel,
  packCenterBytesKernel,
  packCentersForLanes,
  sampleMeanKernel,
} from './assign-kernels.ts'
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
import type { PassOptions } from './declared-kernel.ts'
import type { MatrixRows } from './kernel-fields.ts'
import { rowCuts } from './row-passes.ts'
import { denseType, rowsPart } from './rows.ts'
import { usableForm } from './usable-form.ts'

/** Fewer points of bytes do not fill a GPU; the scalar form divides the centres then. */
const BYTES_DEFAULT_ROWS = 16_384

type Passes = Generator<ComputePass>

/** Centres that are bound at once. */
interface Bound {
  readonly args: AssignArgs
  readonly range: Range
  readonly part: MatrixRows
  /** Label of the first of them. */
  readonly firstLabel: number
  /** Earlier results are kept unless a centre is strictly nearer. */
  readonly merge: boolean
}

const FORMS: Record<AssignForm, (gpu: GpuTarget, bound: Bound) => Passes> = {
  blocks: (gpu, bound) => unpacked(gpu, bound, 'blocks'),
  tiles: (gpu, bound) => unpacked(gpu, bound, 'tiles'),
  'wide-tiles': wideTiles,
  scalar,
  bytes,
}

export function* assignNearestPasses(gpu: GpuTarget, args: AssignArgs): Passes {
  const { centers } = args
  const form = formFor(gpu, args)
  for (const range of centerRanges(gpu, args, form)) {
    yield* FORMS[form](gpu, {
      args,
      range,
      part: rowsPart(centers, range.start, range.end),
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
  if (form === 'blocks' || form === 'tiles') return [assignKernel.shader({ points: type, form })]
  const merge = mergeSplitsKernel.shader({ points: type })
  if (form === 'wide-tiles') return [assignWideTilesKernel.shader({ points: type }), merge]
  const pack = packCentersForLanes.shader({})
  if (form === 'scalar') return [pack, assignScalarKernel.shader({ points: type, perLane }), merge]
  const bytes = [assignBytesKernel, assignListedKernel].map((kernel) => kernel.shader({ points: 'u8' }))
  return [pack, sampleMeanKernel.shader({}), packCenterBytesKernel.shader({}), ...bytes]
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
function* unpacked(gpu: GpuTarget, bound: Bound, form: 'blocks' | 'tiles'): Passes {
  const starts = slice(bound.args.workspace, 0, bound.part.rows * 4)
  yield startsPass(gpu, bound.part, starts)
  yield* assignKernel.passes(gpu, { ...assignArgs(bound), starts, form }, { share: (done) => shareDone(bound, done) })
}

/** starts: -|c|^2 / 2 of the centres of a binding. */
export function startsPass(gpu: GpuTarget, centers: MatrixRows, starts: BufferPart): ComputePass {
  return centerStartsKernel.pass(gpu, { centers, starts, centerCount: centers.rows, stride: centers.stride })
}

function* scalar(gpu: GpuTarget, bound: Bound): Passes {
  const { perLane, block, padded } = packedCenters(bound.part.rows)
  const { packed, starts, partials } = workspaceParts(bound, padded)
  yield packPass(gpu, bound, packed, starts)
  yield* splitPasses(gpu, bound, {
    points: SCALAR.points,
    centers: padded,
    block,
    partials,
    pass: (args, options) => assignScalarKernel.pass(gpu, { ...args, packed, starts, perLane }, options),
  })
}

function* wideTiles(gpu: GpuTarget, bound: Bound): Passes {
  const count = bound.part.rows
  const { packed, partials } = workspaceParts(bound, packedCenters(count).padded)
  const starts = slice(packed, 0, count * 4)
  yield startsPass(gpu, bound.part, starts)
  yield* splitPasses(gpu, bound, {
    points: WIDE_TILE.points,
    centers: count,
    block: WIDE_TILE.centers,
    partials,
    pass: (args, options) => assignWideTilesKernel.pass(gpu, { ...args, starts }, options),
  })
}

/** Integer scores; then the exact form for the points that they leave unsure. How many, the host need not know. */
function* bytes(gpu: GpuTarget, bound: Bound): Passes {
  const { points, workspace } = bound.args
  const { rows: centerCount, stride } = bound.part
  const padded = Math.ceil(centerCount / BYTES.centers) * BYTES.centers
  const layout = bytesLayout(padded, stride)
  const part = ({ offset, bytes }: WorkspaceRange) => slice(workspace, offset, bytes)
  const [packed, starts, mean, unsure] = [layout.packed, layout.starts, layout.mean, layout.unsure].map(part)
  const integers = { packed: part(layout.bytePacked), starts: part(layout.byteStarts) }
  yield packPass(gpu, bound, packed, starts)
  const centers = { centers: bound.part, centerCount, stride, mean, unsure }
  yield sampleMeanKernel.pass(gpu, centers)
  yield packCenterBytesKernel.pass(gpu, { ...centers, ...integers, padded })
  const perRow = 2 * centerCount * stride
  let counter = 0
  const atLeast = BYTES.points * 4
  for (const { first, count } of rowCuts(gpu, { rows: points.rows, perRow, atLeast, atMost: unsureRows(padded) })) {
    const args = { ...assignArgs(bound), firstRow: first, rows: count, padded, counter, unsure }
    yield assignBytesKernel.pass(gpu, { ...args, ...integers, mean }, { operations: count * perRow })
    yield assignListedKernel.pass(gpu, { ...args, packed, starts }, { share: shareDone(bound, first + count) })
    counter = 1 - counter
  }
}

type SplitArgs = Parameters<typeof mergeSplitsKernel.pass>[1]

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
  const perRow = 2 * bound.part.rows * points.stride
  for (const { first, count } of rowCuts(gpu, { rows: points.rows, perRow, atLeast: form.points * 4 })) {
    const { splits, each } = splitCenters(count, form)
    const args = {
      ...{ ...assignArgs(bound), firstRow: first, rows: count },
      padded: form.centers,
      splitCenters: each,
      splits,
      partials: form.partials,
    }
    const share = shareDone(bound, first + count)
    const operations = count * perRow
    yield form.pass(args, splits === 1 ? { operations, share } : { operations })
    if (splits > 1) yield mergeSplitsKernel.pass(gpu, args, { share })
  }
}

function packPass(gpu: GpuTarget, { part }: Bound, packed: BufferPart, starts: BufferPart): ComputePass {
  const padded = starts.bytes / 4
  const { rows: centerCount, stride } = part
  return packCentersForLanes.pass(gpu, { centers: part, packed, starts, centerCount, stride, padded })
}

function workspaceParts({ args }: Bound, padded: number) {
  const { packed, starts, partials } = packedLayout(padded, args.points.stride)
  const part = ({ offset, bytes }: WorkspaceRange) => slice(args.workspace, offset, bytes)
  return { packed: part(packed), starts: part(starts), partials: part(partials) }
}

function assignArgs(bound: Bound) {
  const { points, labels, distances } = bound.args
  const { part: centers, firstLabel, merge } = bound
  return { points, centers, labels, distances, centerCount: centers.rows, firstLabel, merge }
}

function shareDone({ args, range }: Bound, rows: number): number {
  return (range.start + ((range.end - range.start) * rows) / args.points.rows) / args.centers.rows
}
