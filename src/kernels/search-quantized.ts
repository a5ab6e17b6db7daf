/**
 * search-quantized: `search-tree` on the CPU over one k-means tree, with scores of 16-bit integers. Nodes are ranked by them;
 * of the centres looked at, those that may be the nearest are measured exactly, so that the label is the nearest of them and
 * the distance has the bits of measuring all. Where centres are to be listed all of them are measured exactly. Cost: about
 * d operations for each node and centre, 3 d for each centre that is measured.
 */
import { type CpuJob, type CpuMemory, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { countOf, elements, mayRead, reads, writes } from '../device/fields.ts'
import { type FunctionArgs, SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { quantizeCentersJobs, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import type { DeviceRows } from './rows.ts'
import { ORDER_FIELD, SEARCH_FIELDS, searchGrain } from './search-fields.ts'

/** Centres of a search that are scored together, and that wait to be measured. */
const SEARCH_PLACES = 256
const SEARCH_DOUBTFUL = 32

export const searchQuantizedConstants = new SharedConstants({
  SEARCH_PLACES: { type: 'u32', value: SEARCH_PLACES },
  SEARCH_DOUBTFUL: { type: 'u32', value: SEARCH_DOUBTFUL },
})

export const searchQuantizedKernel = declareKernel('search-quantized', {
  args: SEARCH_FIELDS,
  items: ({ points }) => points.rows,
  cpu: {
    entry: 'searchQuantized',
    args: {
      /** Of the centres; with a width of the nodes, and the other two are absent. */
      header: reads('f32'),
      /** In the order of `items`. */
      quantized: mayRead('i16'),
      starts: mayRead('f32'),
      /** Centres of the nodes as integers, and their starting values in the same scale. */
      quantizedNodes: reads('i16'),
      nodeStarts: reads('f32'),
      ...ORDER_FIELD,
    },
    scratch: {
      /** The point as integers. */
      row: ({ points }) => Math.ceil(points.stride / 8) * 16,
      /** Nodes that wait, children of a node in fours: ranks, the least of each block of 16, and the first number of each four. */
      ranks: ({ nodes }) => waitingBytes(nodes.count),
      least: ({ nodes }) => waitingBytes(nodes.count) / 4,
      numbers: ({ nodes }) => waitingBytes(nodes.count) / 4,
      /** Centres to be scored, where they stand in leaves. */
      places: () => (SEARCH_PLACES + 4) * 4,
      /** The nearest centre so far, four scores, and centres that may be the nearest. */
      nearest: () => 32 + SEARCH_DOUBTFUL * 8,
      /** The point as floats and four distances, where centres are listed. */
      floats: ({ points, width }) => (width > 0 ? points.stride * 4 : 0),
      measures: () => 16,
    },
    grain: searchGrain,
  },
})

/** Two children take the room of four; blocks are whole. */
function waitingBytes(nodes: number): number {
  return Math.ceil((2 * nodes * 4 + 16) / 64) * 64
}

/** What `quantizedLayout` lays out, of the nodes and of the centres. */
export interface QuantizedTree {
  readonly nodes: DeviceBuffer
  /** Without them centres can be listed, but the nearest alone cannot be found. */
  readonly centers?: DeviceBuffer | undefined
}

interface TreeOfFloats {
  readonly nodes: DeviceBuffer
  readonly items: DeviceBuffer
  readonly nodeCenters: DeviceRows
  readonly centers: DeviceRows
}

export const discountNodesKernel = declareKernel('discount-nodes', {
  args: { nodes: reads('vec4u'), header: reads('f32'), starts: writes('f32') },
  items: ({ nodes }) => countOf(nodes),
  cpu: { entry: 'discountNodes', grain: 4096 },
})

/** Fills both buffers, of `quantizedLayout(...).bytes` each. `nodeCenters` and `centers` are floats. */
export function quantizeTree(
  device: Device,
  { nodes, items, nodeCenters, centers }: TreeOfFloats,
  into: QuantizedTree,
): Promise<void> {
  return device.run({
    name: 'quantize-tree',
    webgpu: () => [],
    *cpu(memory) {
      yield* quantizeCentersJobs(memory, nodeCenters, into.nodes)
      const { header, starts } = quantizedValues(into.nodes, nodeCenters)
      yield discountNodesKernel.job(memory, { nodes: elements(nodes, nodeCenters.rows), header, starts })
      // Leaf by leaf, so that those of a leaf follow one another.
      if (into.centers !== undefined) yield* quantizeCentersJobs(memory, centers, into.centers, items)
    },
  })
}

export type QuantizedSearch = FunctionArgs<typeof SEARCH_FIELDS & typeof ORDER_FIELD> & {
  readonly quantized: QuantizedTree
}

export function searchQuantizedJob(memory: CpuMemory, { quantized, ...search }: QuantizedSearch): CpuJob {
  const { centers, nodes, width } = search
  const nodeRows = { rows: nodes.count, stride: centers.stride }
  const ofNodes = quantizedValues(quantized.nodes, nodeRows)
  const ofCenters = width === 0 && quantized.centers ? quantizedValues(quantized.centers, centers) : undefined
  if (width === 0 && ofCenters === undefined) throw new Error('Finding the nearest takes centres as integers.')
  return searchQuantizedKernel.job(memory, {
    ...search,
    header: (ofCenters ?? ofNodes).header,
    quantized: ofCenters?.quantized,
    // Four at a time are read, the last ones from what follows.
    starts: ofCenters && startsAndBeyond(quantized.centers as DeviceBuffer, centers),
    quantizedNodes: ofNodes.quantized,
    nodeStarts: startsAndBeyond(quantized.nodes, nodeRows),
  })
}

/** Starting values, and the buffer to its end: there is room behind them (`TreeBuffers`). */
function startsAndBeyond(buffer: DeviceBuffer, rows: { readonly rows: number; readonly stride: number }) {
  const { starts } = quantizedLayout(rows)
  return elements(slice(buffer, starts, buffer.bytes - starts), (buffer.bytes - starts) / 4)
}
