/**
 * label-cells: each point gets the number of the cell that holds it. members: u32 [n], points cell by cell; offsets: u32
 * [cells + 1], where cells begin; labels: u32 [n]. Cost: n log cells operations.
 */
import { labelCellsShader } from '../../shaders/label-cells.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { rowPasses } from './row-passes.ts'

export interface LabelCellsArgs {
  /** Points. */
  readonly count: number
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
  readonly cells: number
  readonly labels: DeviceBuffer
}

export function labelCells(device: Device, { count, members, offsets, cells, labels }: LabelCellsArgs): Promise<void> {
  return device.run({
    name: 'label-cells',
    *webgpu(gpu) {
      yield* rowPasses(gpu, {
        rows: count,
        perRow: 4 * Math.ceil(Math.log2(cells + 1)),
        atLeast: THREADS,
        pass: (first, rows) => ({
          shader: labelCellsShader,
          bindings: [members, offsets, labels],
          params: [first, rows, cells],
          groups: gridFor(rows, THREADS, gpu.limits.workgroups),
        }),
      })
    },
    *cpu(memory) {
      yield {
        entry: 'labelCells',
        items: count,
        grain: 65536,
        args: [
          memory.address(members, count * 4),
          memory.address(offsets, (cells + 1) * 4),
          cells,
          memory.address(labels, count * 4),
        ],
      }
    },
  })
}
