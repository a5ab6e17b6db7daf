/**
 * Clusters while points move among them: their masses and sizes, and centres for dense rows. For sparse rows clusters are held
 * as sums of their points, column by column, so that a move costs only the row's entries, whatever the number of columns.
 */
import { CLUSTER_ROWS, prepareMovesBody, sumColumnsBody } from '../../shaders/moving-clusters.ts'
import { CentroidalError } from '../core/errors.ts'
import type { BufferScope, Device, DeviceBuffer } from '../device/contract.ts'
import { type BufferField, type Element, elements, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { type AnyForm, compiled, inForms, READ_ROWS } from './kernel-fields.ts'
import { QUANTIZED_LENGTH, quantizedFields, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import type { DeviceRows, RowType } from './rows.ts'

export interface MovingClusters {
  /** Of sparse rows, these stay while points move. */
  readonly centers: DeviceRows
  /** f32 [k][2]: weight (or, of unit vectors, length of the sum) and number of points; not on a GPU for sparse rows. */
  readonly masses: DeviceBuffer
  /** Dense rows on the CPU only: scales, centres as integers, their starting values. */
  readonly quantized?: DeviceBuffer
  /** Sparse rows only. */
  readonly sparse?: MovingSums
  /** Vectors and centres have length one. */
  readonly unit: boolean
}

/** Sums of the points of each cluster while they move; `accumulate` needs its own for the next round. */
export interface MovingSums {
  /** f32 [columns][stride]; on a GPU three rows more: masses, numbers of points, squared lengths. */
  readonly sums: DeviceBuffer
  /** CPU only: squared lengths of the sums, f64 [k]. */
  readonly squares: DeviceBuffer
  /** Clusters side by side: k rounded up to a multiple of 4. */
  readonly stride: number
}

/** For points of a type; `longest`: length of the longest point, which no centre exceeds. */
export function createMovingClusters(
  device: Device,
  scope: BufferScope,
  centers: DeviceRows,
  options: { readonly type: RowType; readonly unit: boolean; readonly longest: number },
): MovingClusters {
  const { type, unit } = options
  const longest = unit ? 1.001 : options.longest * 1.001
  const masses = scope.allocate(centers.rows * 8, 'masses of clusters')
  if (type === 'csr') return { centers, masses, unit, sparse: createMovingSums(device, scope, centers) }
  if (device.info.kind !== 'cpu') return { centers, masses, unit }
  const quantized = scope.allocate(quantizedLayout(centers).bytes, 'centres as integers')
  const scale = longest > 0 ? QUANTIZED_LENGTH / longest : 1
  // Bytes are whole numbers already.
  const pointScale = type === 'u8' && longest < QUANTIZED_LENGTH ? 1 : scale
  const worst = 0.5 * Math.sqrt(centers.stride)
  device.write(quantized, Float32Array.of(scale, pointScale, worst, QUANTIZED_LENGTH + worst))
  return { centers, masses, quantized, unit }
}

function createMovingSums(device: Device, scope: BufferScope, centers: DeviceRows): MovingSums {
  const stride = Math.ceil(centers.rows / 4) * 4
  const onCpu = device.info.kind === 'cpu'
  const bytes = (centers.stride + (onCpu ? 0 : CLUSTER_ROWS)) * stride * 4
  const { bindingBytes } = device.info.limits
  if (!onCpu && bytes > bindingBytes) {
    throw new CentroidalError(
      'out-of-memory',
      `Moving points among ${centers.rows} clusters of ${centers.cols} columns requires a buffer of ${bytes} bytes and the largest binding of the device is ${bindingBytes}: use fewer clusters, method lloyd, or the CPU device.`,
    )
  }
  return {
    sums: scope.allocate(bytes, 'sums of moving clusters'),
    squares: scope.allocate(centers.rows * 8, 'squared lengths of sums'),
    stride,
  }
}

/** Clusters side by side in the sums of sparse rows; shaders have it in quads. */
export const SUM_STRIDE = { sumStride: 'stride' } as const

/** Clusters as WebAssembly functions have them (wasm/moving-clusters.ts); buffers that changes are kept in are `mayWrite`. */
export function clusterFields(changed: (element: Element) => BufferField<true>) {
  return {
    /** [k][2]: mass and number of points. */
    clusters: changed('f32'),
    /** Of dense rows. */
    centers: changed('f32'),
    ...quantizedFields(changed, mayRead),
    /** Of sparse rows: sums of the points of each cluster, [columns][sumStride], and squared lengths of these. */
    sums: changed('f32'),
    squares: changed('f64'),
  }
}

/** Scratch memory of functions that describe clusters with a `Clusters`. */
export const DESCRIBED = { described: () => 24 } as const

/** Values of `clusterFields`, and of `SUM_STRIDE`. */
export function clusterValues({ centers, masses, quantized, sparse }: MovingClusters) {
  const { rows: k, stride } = centers
  return {
    clusters: elements(masses, k * 2),
    sumStride: sparse?.stride ?? 0,
    ...(sparse
      ? { sums: elements(sparse.sums, stride * sparse.stride), squares: elements(sparse.squares, k) }
      : { centers: elements(centers.buffer, k * stride) }),
    ...(quantized ? quantizedValues(quantized, centers) : {}),
  }
}

const isSparse = ({ points }: AnyForm): boolean => points === 'csr'
const isDense = (form: AnyForm): boolean => !isSparse(form)

/** Clusters as shaders have them (shaders/moving-clusters.ts): `centers` and `clusters`, or `sums` in elements of a type. */
export function shaderClusterFields(access: typeof reads | typeof writes, sums: Element) {
  return {
    centers: inForms(isDense, access('vec4f')),
    clusters: inForms(isDense, access('vec2f')),
    sums: inForms(isSparse, access(sums)),
  }
}

/** Values of `shaderClusterFields`, and of `SUM_STRIDE`. */
export function shaderClusterValues({ centers, masses, sparse }: MovingClusters) {
  return {
    centers: centers.buffer,
    clusters: masses,
    sums: sparse?.sums,
    sumStride: sparse?.stride ?? 0,
  }
}

/** Sums of the points of each cluster as `accumulate` leaves them. */
const GIVEN = { given: READ_ROWS, stride: 'stride', k: 'u32' } as const

export const prepareMovesKernel = declareKernel('prepare-moves', {
  args: { ...GIVEN, totals: reads('f32'), counts: reads('u32'), unit: 'bool', ...SUM_STRIDE },
  gpu: {
    args: {
      sparse: compiled(true, false),
      clusters: inForms(({ sparse }) => sparse === false, writes('vec2f')),
      sums: inForms(({ sparse }) => sparse === true, writes('f32')),
    },
    body: ({ sparse }) => prepareMovesBody(sparse),
    grid: ({ sparse, sumStride, k }) => (sparse ? sumStride : k),
    operations: ({ k, stride }) => 2 * k * stride,
  },
  cpu: {
    entry: 'prepareMoves',
    args: clusterFields(mayWrite),
    items: ({ k }) => k,
    grain: ({ stride }) => Math.max(1, Math.round(1e5 / stride)),
  },
})

/** Sums of sparse rows, column by column. */
export const sumColumnsKernel = declareKernel('sum-columns', {
  args: { ...GIVEN, ...SUM_STRIDE },
  gpu: {
    args: { sums: writes('vec4f') },
    body: sumColumnsBody,
    grid: ({ stride, sumStride }) => (stride * sumStride) / 16,
    operations: ({ stride, sumStride }) => 2 * sumStride * stride,
  },
  cpu: {
    entry: 'sumColumns',
    args: { sums: writes('f32') },
    items: ({ sumStride }) => sumStride / 4,
    grain: ({ stride }) => Math.max(1, Math.round(2e4 / stride)),
  },
})

export interface PrepareMovesArgs {
  /** As `accumulate` leaves them; the centres are already the means of these. */
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  readonly counts: DeviceBuffer
  readonly clusters: MovingClusters
}

/** Masses and sizes anew: what many moves may have rounded away does not add up over rounds. */
export function prepareMoves(device: Device, { sums, totals, counts, clusters }: PrepareMovesArgs): Promise<void> {
  const { centers, unit, sparse } = clusters
  const { rows: k, stride } = centers
  const given = { given: { buffer: sums, rows: k, stride }, stride, k }
  const args = { ...given, totals: elements(totals, k), counts: elements(counts, k), unit }
  return device.run({
    name: 'prepare-moves',
    *webgpu(gpu) {
      const values = shaderClusterValues(clusters)
      if (sparse) yield sumColumnsKernel.pass(gpu, { ...given, sums: sparse.sums, sumStride: sparse.stride })
      yield prepareMovesKernel.pass(gpu, { ...args, ...values, sparse: sparse !== undefined })
    },
    *cpu(memory) {
      const values = clusterValues(clusters)
      if (sparse) {
        const { stride: sumStride } = sparse
        yield sumColumnsKernel.job(memory, { ...given, sums: elements(sparse.sums, stride * sumStride), sumStride })
      }
      yield prepareMovesKernel.job(memory, { ...args, ...values })
    },
  })
}
