/**
 * label-cells: the number of the cell of each point. members: u32 [n], points cell by cell; offsets: u32 [cells + 1], where
 * cells begin; labels: u32 [n]. Cost: n log cells operations.
 */
import { labelCellsBody } from '../../shaders/label-cells.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { countOf, elements, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'

export const labelCellsKernel = declareKernel('label-cells', {
  args: { members: reads('u32'), offsets: reads('u32'), cells: 'u32', labels: writes('u32') },
  items: ({ members }) => countOf(members),
  gpu: {
    body: labelCellsBody,
    cut: { params: ['first', 'count'], operations: ({ cells }) => 4 * Math.ceil(Math.log2(cells + 1)) },
  },
  cpu: { entry: 'labelCells', grain: 65536 },
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
  return labelCellsKernel.run(device, {
    cells,
    members: elements(members, count),
    offsets: elements(offsets, cells + 1),
    labels: elements(labels, count),
  })
}
