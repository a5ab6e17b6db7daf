/**
 * assign-leaves: candidate-restricted assignment over closure neighbourhoods.
 *
 * All points of a leaf share one candidate set: the labels carried by the leaf's members when the call
 * begins. members: u32 [n], points leaf by leaf; offsets: u32 [leaves + 1]. labels and distances hold
 * the best so far (at first: each point's own centre) and keep the better; a point is in one leaf, so
 * no leaf sees what another is changing. With `around` n is the number of rows of the domain, and
 * candidates are the labels lent by all members of the leaf.
 * Cost: 3 d operations for each pair of a point and a different label in its leaf.
 */
import { assignMembers, collectLabelsBody } from '../../shaders/assign-leaves.ts'
import { assignLeafTiles, LARGEST_LEAF } from '../../shaders/assign-leaves-tiled.ts'
import { centerTiles, LEAF_THREADS } from '../../shaders/leaf-tiles.ts'
import { THREADS } from '../../shaders/snippets.ts'
import type { BufferPart, Device, DeviceBuffer } from '../device/contract.ts'
import { countOf, type Elements, elements, reads, writes } from '../device/fields.ts'
import { type Around, DOMAIN_FIELDS, domainValues } from './around.ts'
import { declareKernel } from './declared-kernel.ts'
import { type AnyForm, compiled, compiledOf, DENSE_VECTORS, inForms, READ_ROWS } from './kernel-fields.ts'
import { quantizeCentersJobs, quantizedFields, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import type { DeviceRows } from './rows.ts'

/** Points, leaf by leaf. */
const members = reads('u32')
/** First member of each leaf, and the end of the last. */
const offsets = reads('u32')
/** Pairs measured in each leaf. */
const evaluated = writes('u32')
/** Different labels of each leaf, from its offset on. */
const CANDIDATES = 'u32'
/** Of each member: its first candidate, and how many there are. */
const RANGES = 'vec2u'

/** Before the form of assign-leaves without tiles. */
export const collectLeafLabels = declareKernel('assign-leaves-collect', {
  args: {
    leaves: 'u32',
    largest: 'u32',
    members,
    offsets,
    ...DOMAIN_FIELDS,
    candidates: writes(CANDIDATES),
    ranges: writes(RANGES),
    evaluated,
  },
  items: ({ leaves }) => leaves,
  gpu: { body: collectLabelsBody, operations: ({ members, largest }) => countOf(members) * largest },
})

interface Shape {
  readonly points: DeviceRows
  readonly members: DeviceBuffer | BufferPart | Elements
  readonly largest: number
}

/** Columns that are compared for a member, on average: only points that are held are measured. */
function columnsOf({ points, members, largest }: Shape): number {
  return (points.rows / Math.max(1, countOf(members))) * largest * points.stride
}

/** Fewest leaves worth a dispatch. */
const LEAVES_AT_LEAST = 64

const inTiles = ({ tiles }: AnyForm): boolean => tiles !== 0
const byMembers = ({ tiles }: AnyForm): boolean => tiles === 0

export const assignLeavesKernel = declareKernel('assign-leaves', {
  args: {
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    members,
    leaves: 'u32',
    largest: 'u32',
    domainFrom: DOMAIN_FIELDS.domainFrom,
    held: DOMAIN_FIELDS.held,
    labels: writes('u32'),
    distances: writes('f32'),
  },
  gpu: {
    args: {
      /** Of candidates, for one workgroup a leaf, which collects them itself; 0: one thread a member. */
      tiles: compiledOf<0 | 1 | 2>(0, 1, 2),
      around: compiled(true, false),
      offsets: inForms(inTiles, offsets),
      evaluated: inForms(inTiles, evaluated),
      /** Where there is more around the points than their labels. */
      domainLabels: inForms((form) => inTiles(form) && form.around === true, DOMAIN_FIELDS.domainLabels),
      candidates: inForms(byMembers, reads(CANDIDATES)),
      ranges: inForms(byMembers, reads(RANGES)),
    },
    body: ({ tiles, around }) => (tiles === 0 ? assignMembers() : assignLeafTiles(tiles, around)),
    workgroup: ({ tiles }) => (tiles === 0 ? THREADS : LEAF_THREADS),
    cut: {
      params: ['first', 'count'],
      items: ({ tiles, leaves, members }) => (tiles === 0 ? countOf(members) : leaves),
      operations: (args) =>
        args.tiles === 0 ? 1 + 3 * columnsOf(args) : args.largest * (args.largest + 3 * columnsOf(args)),
      atLeast: ({ tiles }) => (tiles === 0 ? THREADS : LEAVES_AT_LEAST),
    },
    grid: ({ tiles, count }) => (tiles === 0 ? count : { groups: count }),
    forms: [
      { points: 'f32', tiles: 0, around: false },
      { points: 'u8', tiles: 0, around: false },
      { points: 'f32', tiles: 1, around: false },
      { points: 'f32', tiles: 2, around: true },
      { points: 'u8', tiles: 1, around: false },
    ],
  },
  cpu: {
    entry: 'assignLeaves',
    args: { offsets, domainLabels: DOMAIN_FIELDS.domainLabels, evaluated, ...quantizedFields(reads, reads) },
    scratch: {
      /** Labels of a leaf. */
      candidates: ({ largest }) => largest * 4,
      /** Places in the leaf of the members that are held. */
      places: ({ largest }) => largest * 4,
      /** Of each point: by how much its scores may miss, and its scale; read in fours. */
      margins: ({ largest }) => Math.ceil(largest / 4) * 16,
      scales: ({ largest }) => Math.ceil(largest / 4) * 16,
      /** Four points with each candidate. */
      scores: ({ largest }) => largest * 16,
      /** Four points with two candidates. */
      dots: () => 32,
      /** The points of a leaf as integers. */
      rows: ({ points, largest }) => largest * Math.ceil(points.stride / 8) * 16,
    },
    items: ({ leaves }) => leaves,
    grain: (args) => Math.max(1, Math.round(1e6 / (args.largest * (1 + columnsOf(args))))),
  },
})

export interface AssignLeavesArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
  readonly leaves: number
  /** Points in the largest leaf. */
  readonly largest: number
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  /** What the tree covers, where that is more than the points. */
  readonly around?: Around | undefined
  /** Scratch memory of the pass. */
  readonly workspace: AssignLeavesWorkspace
}

export interface AssignLeavesWorkspace {
  readonly candidates: DeviceBuffer
  readonly ranges: DeviceBuffer
  /** Centres as 16-bit integers, their starting values and rounding errors; CPU only. */
  readonly quantized: DeviceBuffer
  /** u32 [leaves], after the call: pairs of a point and a centre that were compared in each leaf. */
  readonly evaluated: DeviceBuffer
}

/** Room for trees over n rows (of the domain, where there is one), at most so many leaves, and k centres. */
export function createAssignLeavesWorkspace(
  scope: { allocate(bytes: number, label: string): DeviceBuffer },
  n: number,
  leaves: number,
  centers: { readonly rows: number; readonly stride: number },
): AssignLeavesWorkspace {
  return {
    candidates: scope.allocate(n * 4, 'candidates of leaves'),
    ranges: scope.allocate(n * 8, 'candidates of points'),
    quantized: scope.allocate(quantizedLayout(centers).bytes, 'centres as integers'),
    evaluated: scope.allocate(leaves * 4, 'pairs looked at'),
  }
}

/** Once a round, before `assignLeaves` over any number of trees: centres in the form it reads them. */
export function prepareLeafCenters(
  device: Device,
  centers: DeviceRows,
  workspace: AssignLeavesWorkspace,
): Promise<void> {
  return device.run({
    name: 'prepare-leaf-centers',
    webgpu: () => [],
    cpu: (memory) => quantizeCentersJobs(memory, centers, workspace.quantized),
  })
}

export function assignLeaves(device: Device, args: AssignLeavesArgs): Promise<void> {
  const { points, centers, leaves, largest, around, workspace } = args
  const domain = domainValues(points, args.labels, around)
  const given = {
    ...domain,
    ...{ points, centers, leaves, largest },
    members: elements(args.members, domain.domainLabels.count),
    offsets: elements(args.offsets, leaves + 1),
    labels: elements(args.labels, points.rows),
    distances: elements(args.distances, points.rows),
    evaluated: elements(workspace.evaluated, leaves),
  }
  return device.run({
    name: 'assign-leaves',
    *webgpu(gpu) {
      const { candidates, ranges } = workspace
      const tiles = gpu.tiled && largest <= LARGEST_LEAF ? centerTiles(largest) : 0
      if (tiles === 0) yield collectLeafLabels.pass(gpu, { ...given, candidates, ranges })
      yield* assignLeavesKernel.passes(gpu, {
        ...given,
        ...{ candidates, ranges, tiles },
        around: tiles > 0 && around !== undefined,
      })
    },
    *cpu(memory) {
      yield assignLeavesKernel.job(memory, { ...given, ...quantizedValues(workspace.quantized, centers) })
    },
  })
}
