/** Passes that turn u32 counts into exclusive prefix sums, in place. WebGPU only; the CPU counts as it sorts. */
import { SCAN_BLOCK, scanBlockSums, scanSingle, scanWithinBlocks } from '../../shaders/scan.ts'
import { type BufferPart, type ComputePass, type DeviceBuffer, type GpuTarget, slice } from '../device/contract.ts'
import { elements } from '../device/fields.ts'

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
  const pass = (shader: typeof scanBlockSums, level: number): ComputePass =>
    shader.pass(
      gpu,
      { count: sizes[level], values: at(level), blockSums: at(level + 1) },
      { items: sizes[level + 1], operations: sizes[level] },
    )
  const top = levels.length - 1
  for (let level = 0; level < top; level++) yield pass(scanBlockSums, level)
  yield scanSingle.pass(gpu, { count: sizes[top], values: at(top) }, { groups: [1] })
  for (let level = top - 1; level >= 0; level--) yield pass(scanWithinBlocks, level)
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
