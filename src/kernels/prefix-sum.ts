/** Passes that turn u32 counts into exclusive prefix sums, in place. WebGPU only; the CPU counts as it sorts. */
import {
  blockSumsBody,
  SCAN_BLOCK,
  SCAN_THREADS,
  scanSingleBody,
  scanWholeBody,
  withinBlocksBody,
} from '../../shaders/prefix-sum.ts'
import { type BufferPart, type ComputePass, type DeviceBuffer, type GpuTarget, slice } from '../device/contract.ts'
import { elements, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'

const FIELDS = { count: 'u32', values: writes('u32') } as const
// Written in both passes: values and block sums can lie in one buffer, which WebGPU lets a dispatch either read or write.
const BLOCK_FIELDS = { ...FIELDS, blockSums: writes('u32') } as const
const blocksOf = ({ count }: { readonly count: number }): number => Math.ceil(count / SCAN_BLOCK)

export const blockSumsKernel = declareKernel('scan-block-sums', {
  args: BLOCK_FIELDS,
  items: blocksOf,
  gpu: { body: blockSumsBody, operations: ({ count }) => count },
})

export const withinBlocksKernel = declareKernel('scan-within-blocks', {
  args: BLOCK_FIELDS,
  items: blocksOf,
  gpu: { body: withinBlocksBody, operations: ({ count }) => count },
})

export const scanSingleKernel = declareKernel('scan-single', {
  args: FIELDS,
  gpu: { body: scanSingleBody, workgroup: 1, grid: () => ({ groups: 1 }) },
})

export const scanWholeKernel = declareKernel('scan-whole', {
  args: FIELDS,
  gpu: {
    body: scanWholeBody,
    workgroup: SCAN_THREADS,
    grid: () => ({ groups: 1 }),
    operations: ({ count }) => count * 16,
  },
})

/** More values than this are scanned by many workgroups, in several passes. */
const SCANNED_BY_ONE = 2 ** 18

/** By one workgroup where the device takes barriers well and there are not too many. */
export function* prefixSums(
  gpu: GpuTarget,
  values: DeviceBuffer | BufferPart,
  count: number,
  workspace: DeviceBuffer,
): Generator<ComputePass> {
  if (!gpu.tiled || count > SCANNED_BY_ONE) return yield* scanPasses(gpu, values, count, workspace)
  yield scanWholeKernel.pass(gpu, { count, values: elements(values, count) })
}

/** Every level of block sums begins on a boundary any device can bind. */
const ALIGNMENT = 256

export function scanWorkspaceBytes(count: number): number {
  return levelSizes(count).reduce((bytes, size) => bytes + align(size * 4), ALIGNMENT)
}

export function* scanPasses(
  gpu: GpuTarget,
  values: DeviceBuffer | BufferPart,
  count: number,
  workspace: DeviceBuffer,
): Generator<ComputePass> {
  const sizes = [count, ...levelSizes(count)]
  const levels: (DeviceBuffer | BufferPart)[] = [values]
  let offset = 0
  for (const size of sizes.slice(1)) {
    levels.push(slice(workspace, offset, size * 4))
    offset += align(size * 4)
  }
  const at = (level: number) => elements(levels[level], sizes[level])
  const args = (level: number) => ({ count: sizes[level], values: at(level), blockSums: at(level + 1) })
  const top = levels.length - 1
  for (let level = 0; level < top; level++) yield blockSumsKernel.pass(gpu, args(level))
  yield scanSingleKernel.pass(gpu, { count: sizes[top], values: at(top) })
  for (let level = top - 1; level >= 0; level--) yield withinBlocksKernel.pass(gpu, args(level))
}

/** Numbers of blocks, blocks of blocks, and so on down to one block that a single thread can run through. */
function levelSizes(count: number): number[] {
  const sizes: number[] = []
  for (let size = count; size > SCAN_BLOCK; ) {
    size = Math.ceil(size / SCAN_BLOCK)
    sizes.push(size)
  }
  return sizes
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}
