/**
 * tally: the few numbers the host reads of a round. Sum of values (times weights), and how many
 * places of two lists differ; or, without a second list, how many places of the first are zero.
 * A range gives the bits that its places would give in lists of their own.
 */
import { tallyBody } from '../../shaders/tally.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { type RowRange, rangeWithin } from './rows.ts'

const TALLY_BLOCK = 256
export const tallyConstants = new SharedConstants({ TALLY_BLOCK: { type: 'u32', value: TALLY_BLOCK } })

export const tallyKernel = declareKernel('tally', {
  args: {
    first: 'u32',
    count: 'u32',
    values: reads('f32'),
    weights: mayRead('f32'),
    left: reads('u32'),
    /** Without it the zeros of `left` are counted. */
    right: mayRead('u32'),
    sums: writes('f32'),
    differences: writes('u32'),
  },
  items: ({ count }) => Math.ceil(count / TALLY_BLOCK),
  gpu: { body: tallyBody, operations: ({ count }) => count * 4, constants: [tallyConstants] },
  cpu: { entry: 'tally', grain: 64 },
})

export interface TallyArgs {
  readonly count: number
  /** The positions that are used. Default: all. */
  readonly range?: RowRange | undefined
  readonly values: DeviceBuffer
  readonly weights?: DeviceBuffer | undefined
  readonly left: DeviceBuffer
  readonly right?: DeviceBuffer | undefined
  /** `tallyWorkspaceBytes` of the positions that are used, each. */
  readonly sums: DeviceBuffer
  readonly differences: DeviceBuffer
}

export interface TallyResult {
  readonly sum: number
  readonly different: number
}

export function tallyWorkspaceBytes(count: number): number {
  return Math.ceil(count / TALLY_BLOCK) * 4
}

/** Sums of blocks are 32-bit; adding the blocks happens in 64 bits on the host. */
export async function tally(device: Device, args: TallyArgs): Promise<TallyResult> {
  const read = await stageTally(device, args)
  return read()
}

/** The same for numbers that are not needed at once: see `Device.stage`. */
export async function stageTally(device: Device, args: TallyArgs): Promise<() => Promise<TallyResult>> {
  const { from, count } = rangeWithin(args.count, args.range)
  const { values, weights, left, right, sums, differences } = args
  if (count === 0) return async () => ({ sum: 0, different: 0 })
  const blocks = Math.ceil(count / TALLY_BLOCK)
  const used = from + count
  await tallyKernel.run(device, {
    first: from,
    count,
    values: elements(values, used),
    weights: elements(weights, used),
    left: elements(left, used),
    right: elements(right, used),
    sums: elements(sums, blocks),
    differences: elements(differences, blocks),
  })
  const readSums = device.stage({ buffer: sums, offset: 0, bytes: blocks * 4 })
  const readDifferences = device.stage({ buffer: differences, offset: 0, bytes: blocks * 4 })
  return async () => {
    const [sumBytes, differenceBytes] = await Promise.all([readSums(), readDifferences()])
    let sum = 0
    for (const value of new Float32Array(sumBytes)) sum += value
    let different = 0
    for (const value of new Uint32Array(differenceBytes)) different += value
    return { sum, different }
  }
}
