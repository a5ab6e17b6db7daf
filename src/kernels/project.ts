/**
 * project: the dot product of each point with the direction of its tree node.
 * nodes: u32 [n], rows of `directions`; out: f32 [n]. Cost: 2 n d operations.
 */
import { projectBody } from '../../shaders/project.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

export const projectKernel = declareKernel('project', {
  args: { points: DENSE_VECTORS, directions: READ_ROWS, nodes: reads('u32'), out: writes('f32') },
  items: ({ points }) => points.rows,
  gpu: {
    body: projectBody,
    cut: { params: ['firstRow', 'rows'], operations: ({ points }) => 2 * points.stride },
  },
  cpu: { entry: 'project', grain: ({ points }) => Math.max(64, Math.round(5e5 / points.stride)) },
})

export interface ProjectArgs {
  readonly points: DeviceRows
  readonly directions: DeviceRows
  readonly nodes: DeviceBuffer
  readonly out: DeviceBuffer
}

export function projectArgs({ points, directions, nodes, out }: ProjectArgs) {
  return { points, directions, nodes: elements(nodes, points.rows), out: elements(out, points.rows) }
}

export function project(device: Device, args: ProjectArgs): Promise<void> {
  return projectKernel.run(device, projectArgs(args))
}
