/**
 * search-quantized: `search-tree` on the CPU over one k-means tree, with scores of 16-bit integers. Nodes are ranked by them;
 * of the centres looked at, those that may be the nearest are measured exactly, so that the label is the nearest of them and
 * the distance has the bits of measuring all. Where centres are to be listed all of them are measured exactly. Cost: about
 * d operations for each node and centre, 3 d for each centre that is measured.
 */
import type { CpuJob, CpuMemory, Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { quantizeCentersJobs, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import type { DeviceRows } from './rows.ts'

export const searchQuantizedFunction = declareFunction('searchQuantized', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    /** Of the centres; with a width of the nodes, and the other two are absent. */
    header: reads('f32'),
    quantized: mayRead('i16'),
    starts: mayRead('f32'),
    nodes: reads('u32'),
    items: reads('u32'),
    /** Centres of the nodes as integers, and their starting values in the same scale. */
    quantizedNodes: reads('i16'),
    nodeStarts: reads('f32'),
    checks: 'u32',
    /** Centres listed for each point; 0: the nearest alone. */
    width: 'u32',
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
    /** The point as floats and four distances, where centres are listed. */
    floats: ({ points, width }) => (width > 0 ? points.stride * 4 : 0),
    measures: () => 16,
  },
})

/** Words of a node. */
const NODE_WORDS = 4

/** Two children take the room of four. */
function waitingBytes(nodes: number): number {
  return 2 * nodes * 4 + 16
}

/** What `quantizedLayout` lays out, of the nodes and of the centres. */
export interface QuantizedTree {
  readonly nodes: DeviceBuffer
  /** Without them centres can be listed, but the nearest alone cannot be found. */
  readonly centers?: DeviceBuffer | undefined
}

/** Fills both buffers, of `quantizedLayout(...).bytes` each. `nodes` and `centers` are floats. */
export function quantizeTree(
  device: Device,
  { nodes, centers }: { readonly nodes: DeviceRows; readonly centers: DeviceRows },
  into: QuantizedTree,
): Promise<void> {
  return device.run({
    name: 'quantize-tree',
    webgpu: () => [],
    *cpu(memory) {
      yield* quantizeCentersJobs(memory, nodes, into.nodes)
      if (into.centers !== undefined) yield* quantizeCentersJobs(memory, centers, into.centers)
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
  /** Centres to be listed for each point; 0: the nearest alone. */
  readonly width: number
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  readonly looked: DeviceBuffer
  readonly merge: boolean
  readonly order: DeviceBuffer | undefined
  readonly grain: number
}

export function searchQuantizedJob(memory: CpuMemory, search: QuantizedSearch): CpuJob {
  const { points, centers, quantized, nodeCount, width, grain } = search
  const nodeRows = { rows: nodeCount, stride: centers.stride }
  const ofNodes = quantizedValues(quantized.nodes, nodeRows)
  const ofCenters = width === 0 && quantized.centers ? quantizedValues(quantized.centers, centers) : undefined
  if (width === 0 && ofCenters === undefined) throw new Error('Finding the nearest takes centres as integers.')
  const places = points.rows * (width || 1)
  return searchQuantizedFunction.job(
    memory,
    {
      points,
      centers: elements(centers.buffer, centers.rows * centers.stride),
      header: (ofCenters ?? ofNodes).header,
      quantized: ofCenters?.quantized,
      starts: ofCenters?.starts,
      nodes: elements(search.nodes, nodeCount * NODE_WORDS),
      items: elements(search.items),
      quantizedNodes: ofNodes.quantized,
      // Four at a time are read, the last ones from what follows.
      nodeStarts: startsAndErrors(quantized.nodes, nodeRows),
      checks: search.checks,
      width,
      labels: elements(search.labels, places),
      distances: elements(search.distances, places),
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
