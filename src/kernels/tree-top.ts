/**
 * tree-top: the first levels of a partition tree over many points. A sample of the points is split level by level; the planes
 * of these splits send every point to its cell, in one pass over the rows in their order; and a stable sort lists the points
 * cell by cell. Cells have about as many points each; how many exactly, the data decides. CPU only.
 *
 * Cost: 2 n d operations a level, all in the cache; the rows are read once.
 */
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { sortByLabelKernel } from './accumulate.ts'
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS } from './kernel-fields.ts'
import { growNodesKernel } from './partition-tree.ts'
import type { DeviceRows } from './rows.ts'

export const routeRowsKernel = declareKernel('route-rows', {
  args: {
    points: DENSE_VECTORS,
    planes: reads('f32'),
    thresholds: reads('u32'),
    levels: 'u32',
    cells: writes('u32'),
  },
  items: ({ points }) => points.rows,
  cpu: {
    entry: 'routeRows',
    grain: ({ points, levels }) => 4 * Math.max(64, Math.round(5e4 / (levels * points.stride))),
  },
})

export interface TreeTop {
  readonly points: DeviceRows
  /** Numbers of the points of the sample. */
  readonly sampled: Uint32Array
  /** There are 2^levels cells. */
  readonly levels: number
  /** u32 [n]: numbers of the points, cell by cell, after the call. */
  readonly members: DeviceBuffer
  /** As for `growNodes`. */
  readonly sample: number
  readonly steps: number
  readonly seed: number
}

/** Returns where the cells begin, and the end of the last. */
export async function growTop(device: Device, top: TreeTop): Promise<Uint32Array> {
  const { points, sampled, levels, members, sample, steps, seed } = top
  const n = points.rows
  const cells = 2 ** levels
  const scope = new BufferScope(device)
  try {
    const table = Uint32Array.of(0, sampled.length, cells)
    const chosen = scope.upload(sampled, 'sample of a tree')
    const nodes = elements(scope.upload(table, 'tree nodes'), table.length)
    const keys = elements(scope.allocate(sampled.length * 8, 'sampled points along directions'))
    const planes = elements(scope.allocate(cells * points.stride * 4, 'planes of a tree'))
    const thresholds = elements(scope.allocate(cells * 4, 'thresholds of a tree'))
    const cellOf = elements(scope.allocate(n * 4, 'cells of points'))
    const offsets = scope.allocate((cells + 1) * 4, 'where cells begin')
    const pieces = elements(scope.allocate((cells + 1) * 4, 'pieces of cells'))
    await device.run({
      name: 'grow-top',
      webgpu: () => [],
      *cpu(memory) {
        const ofSample = {
          points,
          members: elements(chosen),
          nodes,
          sample,
          steps,
          seed,
          most: 0,
          keys,
          planes,
          thresholds,
        }
        yield growNodesKernel.job(memory, ofSample)
        yield routeRowsKernel.job(memory, { points, planes, thresholds, levels, cells: cellOf })
        const sorted = { offsets: elements(offsets), pieces, order: elements(members, n) }
        yield sortByLabelKernel.job(memory, { labels: cellOf, from: 0, n, k: cells, ...sorted })
      },
    })
    return new Uint32Array(await device.read(offsets))
  } finally {
    scope.free()
  }
}
