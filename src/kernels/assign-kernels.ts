/** What assign declares for dense rows: its forms on WebGPU, and its jobs on the CPU. */
import { assignBlocks, assignTiles, BLOCK_POINTS, centerStartsBody, TILE } from '../../shaders/assign.ts'
import { assignBytesBody, BYTES, packCenterBytesBody, sampleMeanBody } from '../../shaders/assign-bytes.ts'
import { assignManyHeaps, assignManyPrivate } from '../../shaders/assign-many.ts'
import { packCentersBody } from '../../shaders/assign-pack.ts'
import { assignScalarBody, mergeSplitsBody, SCALAR } from '../../shaders/assign-scalar.ts'
import { assignWideTilesBody, WIDE_TILE } from '../../shaders/assign-wide-tiles.ts'
import { THREADS } from '../../shaders/snippets.ts'
import { reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, compiledOf, DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { PANEL } from './panels.ts'
import { HEAP_FIELDS } from './row-heaps.ts'
import type { DeviceRows } from './rows.ts'

/** What all of them are given. */
const FIELDS = {
  points: DENSE_VECTORS,
  centers: READ_ROWS,
  /** Centres that are bound, and the label of the first of them. */
  centerCount: 'u32',
  firstLabel: 'u32',
  /** Keep the current label unless a centre is strictly nearer. */
  merge: 'bool',
  labels: writes('u32'),
  distances: writes('f32'),
} as const

interface Shape {
  readonly points: DeviceRows
  readonly centerCount: number
}

const perRow = ({ points, centerCount }: Shape): number => 2 * centerCount * points.stride

/** Groups of four points whose integer scores are compared at a time: their scores of a chunk stay in a second-level cache. */
export const QUANTIZED_GROUPS = 8
const QUANTIZED_CHUNK_PANELS = 128

export const assignConstants = new SharedConstants({
  QUANTIZED_GROUPS: { type: 'u32', value: QUANTIZED_GROUPS },
  QUANTIZED_CHUNK_PANELS: { type: 'u32', value: QUANTIZED_CHUNK_PANELS },
})

/** Only on the CPU. */
const JOB_FIELDS = {
  /** Packed by packCenters. */
  panels: reads('f32'),
  /** Groups of four points that are packed at a time. */
  blockGroups: 'u32',
} as const

interface Block {
  readonly points: DeviceRows
  readonly blockGroups: number
}

const BLOCK_SCRATCH = {
  /** 4 points against a panel. */
  scores: () => 4 * PANEL * 4,
  /** The packed points of a block. */
  block: ({ points, blockGroups }: Block) => blockGroups * points.stride * 16,
}

const NEAREST_SCRATCH = {
  ...BLOCK_SCRATCH,
  /** Four scores and four centres of each point of a block. */
  best: ({ blockGroups }: Block) => blockGroups * 4 * 32,
}

const items = ({ points }: Shape): number => points.rows

/** About a million operations a slice, in whole blocks, so that threads share well and rarely meet. */
function grain({ points, centerCount, blockGroups }: Shape & Block): number {
  const block = blockGroups * 4
  return Math.max(1, Math.round(2e6 / Math.max(1, 2 * centerCount * points.stride * block))) * block
}

/** The nearest centre: blocks and tiles read centres as they are. */
export const assignKernel = declareKernel('assign', {
  args: FIELDS,
  items,
  gpu: {
    args: {
      form: compiled('blocks', 'tiles'),
      /** -|c|^2 / 2 */
      starts: reads('f32'),
    },
    body: ({ points, form }, features) => (form === 'tiles' ? assignTiles(points, features) : assignBlocks(points)),
    workgroup: ({ form }) => (form === 'tiles' ? TILE.threads : THREADS),
    enables: ({ form }) => (form === 'tiles' ? ['subgroups'] : []),
    cut: {
      params: ['firstRow', 'rows'],
      operations: perRow,
      atLeast: ({ form }) => 4 * (form === 'tiles' ? TILE.points : THREADS * BLOCK_POINTS),
    },
    grid: ({ form, rows }) =>
      form === 'tiles' ? { groups: Math.ceil(rows / TILE.points) } : Math.ceil(rows / BLOCK_POINTS),
    forms: [
      { form: 'tiles', points: 'f32' },
      { form: 'tiles', points: 'u8' },
    ],
    products: ({ form }) => (form === 'tiles' ? 16 : undefined),
  },
  cpu: { entry: 'assignNearest', args: JOB_FIELDS, scratch: NEAREST_SCRATCH, grain },
})

/** The m nearest. */
export const assignManyKernel = declareKernel('assign-many', {
  args: { ...FIELDS, m: 'u32' },
  items,
  gpu: {
    args: {
      starts: reads('f32'),
      /** Of lists in private memory, for software adapters; 0: heaps in a buffer. */
      capacity: compiledOf<number>(0),
      ...HEAP_FIELDS,
    },
    body: ({ points, capacity }) => (capacity > 0 ? assignManyPrivate(points, capacity) : assignManyHeaps(points)),
    cut: { params: ['firstRow', 'rows'], operations: perRow, atLeast: THREADS * 4 },
  },
  cpu: {
    entry: 'assignNearestMany',
    args: JOB_FIELDS,
    scratch: {
      ...BLOCK_SCRATCH,
      /** m scores and centres of each point of a block. */
      lists: ({ blockGroups, m }) => blockGroups * 4 * m * 8,
    },
    grain,
  },
})

/** starts: -|c|^2 / 2 of centres. */
export const centerStartsKernel = declareKernel('center-starts', {
  args: { centers: READ_ROWS, starts: writes('f32'), centerCount: 'u32', stride: 'stride' },
  items: ({ centerCount }) => centerCount,
  gpu: { body: centerStartsBody, operations: ({ centerCount, stride }) => centerCount * stride },
})

/** Centres for the scalar form. Also those of the bytes form, for the points that it leaves unsure. */
export const packCentersForLanes = declareKernel('assign-pack-centers', {
  args: {
    centers: READ_ROWS,
    /** [quads][padded] */
    packed: writes('vec4f'),
    /** -|c|^2 / 2, [padded] */
    starts: writes('f32'),
    centerCount: 'u32',
    stride: 'stride',
    padded: 'u32',
  },
  items: ({ padded }) => padded,
  gpu: { body: packCentersBody, operations: ({ padded, stride }) => padded * stride },
})

/** Of the forms that divide the centres among several workgroups. */
const SPLIT_FIELDS = {
  firstRow: 'u32',
  rows: 'u32',
  /** Centres with padding. */
  padded: 'u32',
  /** Centres of one split. */
  splitCenters: 'u32',
  splits: 'u32',
  /** Score and centre, [split][rows of the pass] */
  partials: writes('vec2u'),
} as const

// Parts of the workspace, in which other parts are written: WebGPU then allows no part to be read only.
const PACKED_FIELDS = {
  /** [quads][padded] */
  packed: writes('vec4f'),
  /** [padded] */
  starts: writes('f32'),
} as const

const LANE_CENTERS = 4

export const assignScalarKernel = declareKernel('assign-scalar', {
  args: {
    ...FIELDS,
    ...SPLIT_FIELDS,
    ...PACKED_FIELDS,
    /** Centres of a lane: 1, 2 or 4. */
    perLane: compiledOf<number>(LANE_CENTERS),
  },
  gpu: {
    body: ({ points, perLane }, features) => assignScalarBody(points, perLane, false, features),
    workgroup: SCALAR.threads,
    enables: ['subgroups'],
    grid: ({ rows, splits }) => ({ groups: Math.ceil(rows / SCALAR.points), layers: splits }),
    products: 64,
  },
})

export const assignWideTilesKernel = declareKernel('assign-wide-tiles', {
  // In the buffer of the partials, which are written.
  args: { ...FIELDS, ...SPLIT_FIELDS, starts: writes('f32') },
  gpu: {
    body: ({ points }, features) => assignWideTilesBody(points, features),
    workgroup: WIDE_TILE.threads,
    enables: ['subgroups'],
    grid: ({ rows, splits }) => ({ groups: Math.ceil(rows / WIDE_TILE.points), layers: splits }),
    products: 64,
  },
})

/** The best of the splits. */
export const mergeSplitsKernel = declareKernel('assign-merge-splits', {
  args: { ...FIELDS, ...SPLIT_FIELDS },
  items: ({ rows }) => rows,
  gpu: { body: mergeSplitsBody, operations: ({ rows, splits, points }) => rows * (splits + 3 * points.stride) },
})

/** m of assign-bytes.ts. */
export const sampleMeanKernel = declareKernel('assign-sample-mean', {
  args: { centers: READ_ROWS, centerCount: 'u32', stride: 'stride', mean: writes('vec4f'), unsure: writes('u32') },
  items: ({ stride }) => stride / 4,
  gpu: { body: sampleMeanBody },
})

export const packCenterBytesKernel = declareKernel('assign-pack-bytes', {
  args: {
    centers: READ_ROWS,
    centerCount: 'u32',
    stride: 'stride',
    mean: writes('vec4f'),
    /** [quads / 4][padded] */
    packed: writes('vec4u'),
    /** m . e - |c|^2 / 2, [padded] */
    starts: writes('f32'),
    /** Maxima before the rows. */
    unsure: writes('atomic<u32>'),
    padded: 'u32',
  },
  items: ({ padded }) => padded,
  gpu: { body: packCenterBytesBody, operations: ({ padded, stride }) => padded * stride },
})

/** Of the forms that write or read the list of unsure points. */
const UNSURE_FIELDS = {
  firstRow: 'u32',
  rows: 'u32',
  padded: 'u32',
  /** Which of the two counters applies. */
  counter: 'u32',
} as const
const BYTES_FORM = [{ points: 'u8' }] as const

/** Integer scores. */
export const assignBytesKernel = declareKernel('assign-bytes', {
  args: {
    ...FIELDS,
    ...UNSURE_FIELDS,
    unsure: writes('atomic<u32>'),
    // Read only, but of the same buffer as the list, which is written.
    packed: writes('vec4u'),
    starts: writes('f32'),
    mean: writes('vec4f'),
  },
  gpu: {
    body: (_, features) => assignBytesBody(features),
    workgroup: BYTES.threads,
    enables: ['subgroups'],
    grid: ({ rows }) => ({ groups: Math.ceil(rows / BYTES.points) }),
    forms: BYTES_FORM,
  },
})

/** The scalar form for the points of a list. */
export const assignListedKernel = declareKernel('assign-scalar-listed', {
  args: { ...FIELDS, ...UNSURE_FIELDS, ...PACKED_FIELDS, unsure: writes('u32') },
  gpu: {
    body: ({ points }, features) => assignScalarBody(points, LANE_CENTERS, true, features),
    workgroup: SCALAR.threads,
    enables: ['subgroups'],
    // As many workgroups as if all points were undecided; most have no work.
    grid: ({ rows }) => ({ groups: Math.ceil(rows / BYTES.points) }),
    forms: BYTES_FORM,
    products: 64,
  },
})

/** Quantized panels: 8 starting values, 32 bytes of notes, then pairs of columns of 8 centres, as i16. */
export function quantizedPanelBytes(stride: number): number {
  return 64 + stride * 16
}

export const packQuantizedKernel = declareKernel('pack-quantized', {
  args: { centers: READ_ROWS, stride: 'stride', count: 'u32', header: reads('f32'), quantized: writes('i16') },
  items: ({ count }) => Math.ceil(count / PANEL),
  /** Rounding errors of four centres. */
  cpu: { entry: 'packQuantized', scratch: { errors: () => 16 }, grain: 64 },
})

const WHOLE_GROUPS = QUANTIZED_GROUPS * 4
const POINT_BYTES = WHOLE_GROUPS * 4

/** Scores of 16-bit integers on the CPU. */
export const assignQuantizedKernel = declareKernel('assign-quantized', {
  args: {
    ...FIELDS,
    ...JOB_FIELDS,
    /** Scale of the centres, and the length of the longest. */
    header: reads('f32'),
    quantized: reads('i16'),
  },
  items,
  cpu: {
    entry: 'assignQuantized',
    scratch: {
      ...NEAREST_SCRATCH,
      /** Rounding errors of four points. */
      errors: () => 16,
      /** The scale of each group. */
      scales: () => QUANTIZED_GROUPS * 4,
      /** Of each point: by how much its scores may miss. */
      margins: () => POINT_BYTES,
      /** Of each point: the best scores so far, in four lanes. */
      running: () => POINT_BYTES * 4,
      bestDistance: () => POINT_BYTES,
      bestIndex: () => POINT_BYTES,
      /** Points as i16, packed in groups. */
      rows: ({ points }) => QUANTIZED_GROUPS * points.stride * 8,
      /** Of each point: four scores for each panel of a chunk. */
      chunkScores: () => WHOLE_GROUPS * QUANTIZED_CHUNK_PANELS * 16,
    },
    grain: (args) => Math.ceil(grain(args) / WHOLE_GROUPS) * WHOLE_GROUPS,
  },
})
