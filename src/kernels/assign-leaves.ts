/**
 * assign-leaves: candidate-restricted assignment over closure neighbourhoods.
 *
 * All points of a leaf share one candidate set: the labels (of the round before, `previous`) carried
 * by the leaf's members. members: u32 [n], points leaf by leaf; offsets: u32 [leaves + 1]. labels and
 * distances hold the best so far (at first: each point's own centre) and keep the better.
 * Cost: 3 d operations for each pair of a point and a different label in its leaf.
 */
import { assignLeavesShader, collectLeafLabels } from '../../shaders/assign-leaves.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, kindOf } from './rows.ts'

export interface AssignLeavesArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
  readonly leaves: number
  /** Points in the largest leaf. */
  readonly largest: number
  readonly previous: DeviceBuffer
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  /** `assignLeavesWorkspaceBytes` long. */
  readonly workspace: { readonly candidates: DeviceBuffer; readonly ranges: DeviceBuffer }
}

/** Bytes of the two workspace buffers for n points. */
export function assignLeavesWorkspaceBytes(n: number): { candidates: number; ranges: number } {
  return { candidates: n * 4, ranges: n * 8 }
}

export function assignLeaves(device: Device, args: AssignLeavesArgs): Promise<void> {
  const { points, centers, members, offsets, leaves, largest, previous, labels, distances, workspace } = args
  return device.run({
    name: 'assign-leaves',
    *webgpu(gpu) {
      yield {
        shader: collectLeafLabels,
        bindings: [members, offsets, previous, workspace.candidates, workspace.ranges],
        params: [leaves],
        groups: gridFor(leaves, THREADS, gpu.limits.workgroups),
        operations: points.rows * largest,
      }
      yield* rowPasses(gpu, {
        rows: points.rows,
        perRow: 3 * largest * points.stride,
        atLeast: THREADS,
        pass: (first, count) => ({
          shader: assignLeavesShader(points.type),
          bindings: [points.buffer, centers.buffer, members, workspace.ranges, workspace.candidates, labels, distances],
          params: [first, count, points.stride / 4],
          groups: gridFor(count, THREADS, gpu.limits.workgroups),
        }),
      })
    },
    *cpu(memory) {
      const panelBytes = (points.stride + 1) * 32
      yield {
        entry: 'assignLeaves',
        items: leaves,
        grain: Math.max(1, Math.round(1e6 / (largest * largest * points.stride))),
        args: [
          memory.address(points.buffer),
          kindOf(points),
          points.stride,
          memory.address(centers.buffer),
          memory.address(members),
          memory.address(offsets),
          largest,
          memory.address(previous),
          memory.address(labels),
          memory.address(distances),
        ],
        scratchBytes: 128 + 32 + panelBytes + points.stride * 16 + largest * 4,
      }
    },
  })
}
