/**
 * label-cells: the number of the cell of each point. members: u32 [n], points cell by cell; offsets: u32 [cells + 1], where
 * cells begin; labels: u32 [n]. Cost: n log cells operations.
 */
import { labelCellsShader } from '../../shaders/label-cells.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareFunction } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'

export const labelCellsFunction = declareFunction('labelCells', {
  args: { members: reads('u32'), offsets: reads('u32'), cells: 'u32', labels: writes('u32') },
})

export interface LabelCellsArgs {
  /** Points. */
  readonly count: number
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
  readonly cells: number
  readonly labels: DeviceBuffer
}

export function labelCells(device: Device, { count, members, offsets, cells, labels }: LabelCellsArgs): Promise<void> {
  const shared = {
    cells,
    members: elements(members, count),
    offsets: elements(offsets, cells + 1),
    labels: elements(labels, count),
  }
  return device.run({
    name: 'label-cells',
    *webgpu(gpu) {
      yield* rowPasses(gpu, {
        rows: count,
        perRow: 4 * Math.ceil(Math.log2(cells + 1)),
        atLeast: THREADS,
        pass: (first, rows) => labelCellsShader.pass(gpu, { ...shared, first, count: rows }, { items: rows }),
      })
    },
    *cpu(memory) {
      yield labelCellsFunction.job(memory, shared, { items: count, grain: 65536 })
    },
  })
}
