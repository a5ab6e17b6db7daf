/** A stable radix sort of u32 keys with u32 values, 8 bits a pass. WebGPU only; the CPU sorts labels by counting. */

import { THREADS } from '../../shaders/snippets.ts'
import { countRuns, DIGITS, RUN, scatterRuns } from '../../shaders/sort.ts'
import { countTiles, SORT_THREADS, SORT_TILE, scatterTiles } from '../../shaders/sort-tiled.ts'
import {
  type BufferScope,
  type ComputePass,
  type DeviceBuffer,
  type GpuTarget,
  type Shader,
  slice,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, inForms } from './kernel-fields.ts'
import { prefixSums, scanWholeKernel, scanWorkspaceBytes } from './prefix-sum.ts'

const FIELDS = {
  /** Keys that a thread or a workgroup sorts. */
  form: compiled('runs', 'tiles'),
  /** Keys are labels, from that of `firstPoint` on, and values are the numbers of the points. */
  first: compiled(true, false),
  n: 'u32',
  /** Groups of keys that are counted and scattered together. */
  runs: 'u32',
  shift: 'u32',
  /** Key of points that belong to no cluster. */
  none: 'u32',
  /** The first point that is sorted. */
  firstPoint: 'u32',
  keys: reads('u32'),
  /** [digit][run] */
  counts: writes('u32'),
} as const

type SortForm = 'runs' | 'tiles'

/** What both passes have in common. */
const SIDE = {
  workgroup: ({ form }: { readonly form: SortForm }) => (form === 'tiles' ? SORT_THREADS : THREADS),
  grid: ({ form, runs }: { readonly form: SortForm; readonly runs: number }) =>
    form === 'tiles' ? { groups: runs } : runs,
  operations: ({ n }: { readonly n: number }) => n * 8,
} as const

export const sortCountKernel = declareKernel('sort-count', {
  args: FIELDS,
  gpu: { ...SIDE, body: ({ form, first }) => (form === 'tiles' ? countTiles(first) : countRuns(first)) },
})

export const sortScatterKernel = declareKernel('sort-scatter', {
  args: {
    ...FIELDS,
    sortedKeys: writes('u32'),
    sortedValues: writes('u32'),
    values: inForms(({ first }) => first === false, reads('u32')),
  },
  gpu: { ...SIDE, body: ({ form, first }) => (form === 'tiles' ? scatterTiles(first) : scatterRuns(first)) },
})

/** The shaders of a sort on hardware. */
export function tiledSortShaders(): Shader[] {
  const passes = [true, false].flatMap((first) =>
    [sortCountKernel, sortScatterKernel].map((kernel) => kernel.shader({ form: 'tiles', first })),
  )
  return [scanWholeKernel.shader({}), ...passes]
}

/** Memory for sorting n keys with their values on a GPU. */
export interface SortWorkspace {
  readonly keys: readonly [DeviceBuffer, DeviceBuffer]
  readonly values: DeviceBuffer
  readonly digits: DeviceBuffer
  readonly scan: DeviceBuffer
}

/** `scanned`: values whose prefix sums are made besides. */
export function createSortWorkspace(scope: BufferScope, n: number, scanned = 0): SortWorkspace {
  const runs = Math.ceil(n / RUN)
  return {
    keys: [scope.allocate(n * 4, 'sort keys'), scope.allocate(n * 4, 'sort keys')],
    values: scope.allocate(n * 4, 'sort values'),
    digits: scope.allocate(DIGITS * runs * 4, 'sort digits'),
    scan: scope.allocate(scanWorkspaceBytes(Math.max(DIGITS * runs, scanned)), 'sort scan'),
  }
}

/** What a radix sort is given. */
export interface RadixSort {
  readonly n: number
  /** u32 [n], from number `firstPoint` on where there are no values. */
  readonly keys: DeviceBuffer
  /** u32 [n]. Default: the numbers from `firstPoint` on; larger keys than `none` then count as `none`. */
  readonly values?: DeviceBuffer
  readonly none: number
  readonly firstPoint: number
  /** Times 8 bits of the keys. */
  readonly passes: number
  readonly sort: SortWorkspace
  /** u32 [n], the values by key. */
  readonly order: DeviceBuffer
}

/** Keys and values that are given stay as they are; the sorted keys are returned. */
export function* radixPasses(
  gpu: GpuTarget,
  { n, none, firstPoint, passes, sort, order, ...given }: RadixSort,
): Generator<ComputePass, DeviceBuffer> {
  const form = gpu.tiled ? 'tiles' : 'runs'
  // Without any keys one empty run still writes the tables.
  const runs = Math.max(1, Math.ceil(n / (form === 'tiles' ? SORT_TILE : RUN)))
  const counts = elements(sort.digits, DIGITS * runs)
  let { keys, values } = given
  for (let pass = 0; pass < passes; pass++) {
    const args = {
      form,
      first: values === undefined,
      n,
      runs,
      shift: pass * 8,
      none,
      firstPoint,
      keys,
      counts,
    } as const
    const sortedKeys: DeviceBuffer = sort.keys[pass % 2]
    const sortedValues = (passes - pass) % 2 === 1 ? order : sort.values
    yield sortCountKernel.pass(gpu, args)
    yield* prefixSums(gpu, slice(sort.digits, 0, DIGITS * runs * 4), DIGITS * runs, sort.scan)
    yield sortScatterKernel.pass(gpu, { ...args, sortedKeys, sortedValues, values })
    keys = sortedKeys
    values = sortedValues
  }
  return keys
}
