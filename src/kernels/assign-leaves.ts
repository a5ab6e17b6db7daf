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
import { assignLeavesShader, collectLeafLabels } from '../../shaders/assign-leaves.ts'
import { assignLeavesTiled, LARGEST_LEAF } from '../../shaders/assign-leaves-tiled.ts'
import { centerTiles } from '../../shaders/leaf-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { ComputePass, Device, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { type Around, DOMAIN_FIELDS, domainOf, domainValues, shareOf } from './around.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { quantizeCentersJobs, quantizedFields, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'

export const assignLeavesFunction = declareFunction('assignLeaves', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    ...quantizedFields(reads),
    members: reads('u32'),
    offsets: reads('u32'),
    largest: 'u32',
    ...DOMAIN_FIELDS,
    labels: writes('u32'),
    distances: writes('f32'),
    looked: writes('u32'),
  },
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
  /** `assignLeavesWorkspaceBytes` long. */
  readonly workspace: AssignLeavesWorkspace
}

export interface AssignLeavesWorkspace {
  readonly candidates: DeviceBuffer
  readonly ranges: DeviceBuffer
  /** Centres as 16-bit integers, their starting values and rounding errors; CPU only. */
  readonly quantized: DeviceBuffer
  /** u32 [leaves], after the call: pairs of a point and a centre that were looked at in each leaf. */
  readonly looked: DeviceBuffer
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
    looked: scope.allocate(leaves * 4, 'pairs looked at'),
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
  const { points, centers, members, offsets, leaves, largest, labels, distances, around, workspace } = args
  const domain = domainOf(points, labels, around)
  const share = shareOf(points, domain)
  return device.run({
    name: 'assign-leaves',
    *webgpu(gpu) {
      if (gpu.tiled && largest <= LARGEST_LEAF) return yield* tiledPasses(gpu, args)
      const { candidates, ranges, looked } = workspace
      const here = { domainFrom: domain.from, held: points.rows }
      yield collectLeafLabels.pass(
        gpu,
        { ...here, leaves, members, offsets, domainLabels: domain.labels, candidates, ranges, looked },
        { items: leaves, operations: domain.rows * largest },
      )
      const shader = assignLeavesShader(denseType(points))
      const quads = points.stride / 4
      const common = {
        ...here,
        quads,
        x: points.buffer,
        centers: centers.buffer,
        members,
        ranges,
        candidates,
        labels,
        distances,
      }
      yield* rowPasses(gpu, {
        rows: domain.rows,
        perRow: 1 + share * 3 * largest * points.stride,
        atLeast: THREADS,
        pass: (firstMember, memberCount) =>
          shader.pass(gpu, { ...common, firstMember, memberCount }, { items: memberCount }),
      })
    },
    *cpu(memory) {
      yield assignLeavesFunction.job(
        memory,
        {
          points,
          centers: elements(centers.buffer, centers.rows * centers.stride),
          ...quantizedValues(workspace.quantized, centers),
          members: elements(members, domain.rows),
          offsets: elements(offsets, leaves + 1),
          largest,
          ...domainValues(points, labels, around),
          labels: elements(labels, points.rows),
          distances: elements(distances, points.rows),
          looked: elements(workspace.looked, leaves),
        },
        { items: leaves, grain: Math.max(1, Math.round(1e6 / (largest * (1 + share * largest * points.stride)))) },
      )
    },
  })
}

/** Fewest leaves worth a dispatch. */
const LEAVES_AT_LEAST = 64

/** One workgroup per leaf, which collects the candidates itself. */
function* tiledPasses(gpu: GpuTarget, args: AssignLeavesArgs): Generator<ComputePass> {
  const { points, centers, members, offsets, leaves, largest, labels, distances, around, workspace } = args
  const domain = domainOf(points, labels, around)
  const shader = assignLeavesTiled({
    type: denseType(points),
    tiles: centerTiles(largest),
    around: around !== undefined,
  })
  const common = {
    x: points.buffer,
    centers: centers.buffer,
    members,
    offsets,
    labels,
    distances,
    looked: workspace.looked,
    domainLabels: around?.labels,
    quads: points.stride / 4,
    domainFrom: domain.from,
    held: points.rows,
  }
  yield* rowPasses(gpu, {
    rows: leaves,
    perRow: largest * (largest + shareOf(points, domain) * 3 * largest * points.stride),
    atLeast: LEAVES_AT_LEAST,
    pass: (firstLeaf, count) =>
      shader.pass(gpu, { ...common, firstLeaf, leaves: count }, { items: count, perGroup: 1 }),
  })
}
