/**
 * search-quantized: `search-tree` on the CPU over one k-means tree, with scores of 16-bit integers. Nodes are ranked by them;
 * of the centres looked at, those that may be the nearest are measured exactly, so that the label is the nearest of them and
 * the distance has the bits of measuring all. Cost: about d operations for each node and centre.
 */
import type { CpuJob, CpuMemory, Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { quantizeCentersJobs, quantizedFields, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import type { DeviceRows } from './rows.ts'

export const searchQuantizedFunction = declareFunction('searchQuantized', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    ...quantizedFields(reads),
    nodes: reads('u32'),
    items: reads('u32'),
    /** Centres of the nodes as integers, and their starting values in the same scale. */
    quantizedNodes: reads('i16'),
    nodeStarts: reads('f32'),
    checks: 'u32',
    labels: writes('u32'),
    distances: writes('f32'),
    looked: writes('f32'),
    merge: 'bool',
    order: mayRead('u32'),
  },
  scratch: {
    /** The point as integers. */
    row: ({ points }) => Math.ceil(points.stride / 8) * 16,
    /** Nodes that wait, children of a node in fours: their ranks and numbers. */
    ranks: ({ nodes }) => waitingBytes(nodes.count / NODE_WORDS),
    numbers: ({ nodes }) => waitingBytes(nodes.count / NODE_WORDS),
    /** The nearest centre so far. */
    nearest: () => 12,
  },
})

/** Words of a node. */
const NODE_WORDS = 4

/** Two children take the room of four. */
function waitingBytes(nodes: number): number {
  return 2 * nodes * 4 + 16
}

/** What `quantizedLayout` lays out, of the centres and of the nodes. */
export interface QuantizedTree {
  readonly centers: DeviceBuffer
  readonly nodes: DeviceBuffer
}

/** Bytes of the two buffers. */
export function quantizedTreeBytes(centers: DeviceRows, nodeCount: number): { centers: number; nodes: number } {
  const bytes = (rows: number): number => quantizedLayout({ rows, stride: centers.stride }).bytes
  return { centers: bytes(centers.rows), nodes: bytes(nodeCount) }
}

/** Fills them. `nodeCenters`: f32 [nodes][stride]. */
export function quantizeTree(
  device: Device,
  centers: DeviceRows,
  nodes: { readonly nodeCenters: DeviceBuffer; readonly nodeCount: number },
  into: QuantizedTree,
): Promise<void> {
  return device.run({
    name: 'quantize-tree',
    webgpu: () => [],
    *cpu(memory) {
      yield* quantizeCentersJobs(memory, centers, into.centers)
      yield* quantizeCentersJobs(memory, { ...centers, buffer: nodes.nodeCenters, rows: nodes.nodeCount }, into.nodes)
    },
  })
}

export interface QuantizedSearch {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly nodes: DeviceBuffer
  readonly items: DeviceBuffer
  readonly nodeCount: number
  readonly quantized: QuantizedTree
  readonly checks: number
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  readonly looked: DeviceBuffer
  readonly merge: boolean
  readonly order: DeviceBuffer | undefined
  readonly grain: number
}

export function searchQuantizedJob(memory: CpuMemory, search: QuantizedSearch): CpuJob {
  const { points, centers, quantized, nodeCount, grain } = search
  const nodeRows = { rows: nodeCount, stride: centers.stride }
  const ofNodes = quantizedValues(quantized.nodes, nodeRows)
  return searchQuantizedFunction.job(
    memory,
    {
      points,
      centers: elements(centers.buffer, centers.rows * centers.stride),
      ...quantizedValues(quantized.centers, centers),
      nodes: elements(search.nodes, nodeCount * NODE_WORDS),
      items: elements(search.items),
      quantizedNodes: ofNodes.quantized,
      // Four at a time are read, the last ones from what follows.
      nodeStarts: startsAndErrors(quantized.nodes, nodeRows),
      checks: search.checks,
      labels: elements(search.labels, points.rows),
      distances: elements(search.distances, points.rows),
      looked: elements(search.looked, points.rows),
      merge: search.merge,
      order: elements(search.order, points.rows),
    },
    { items: points.rows, grain },
  )
}

function startsAndErrors(buffer: DeviceBuffer, rows: { readonly rows: number; readonly stride: number }) {
  const { starts, bytes } = quantizedLayout(rows)
  return elements({ buffer, offset: starts, bytes: bytes - starts }, (bytes - starts) / 4)
}
