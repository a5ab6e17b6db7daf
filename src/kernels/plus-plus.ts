/**
 * plus-plus: greedy k-means++ over points on the device. For each next centre `trials` candidates are drawn, each with a
 * chance in proportion to weight * squared distance to the nearest centre so far; the one that leaves the lowest potential
 * (the sum of these products) becomes a centre. The host reads one word every `BATCH` centres.
 *
 * Distances are taken by differences, so that a point on a centre has no chance. Sums are taken in blocks and always in the
 * same order. Given the random numbers, the choice is that of a plain implementation up to rounding.
 * Cost: at most 3 n trials d operations a centre. A distance above that to the nearest centre does not matter: GPUs give up
 * taking it, and the CPU finds that out from the spacing of centres and candidates, or by scores: see wasm/plus-plus.ts.
 * On separated data that leaves a few operations for each point and centre, whatever d.
 */
import { MOST_TRIALS, PLUS_BLOCK, STATE } from '../../shaders/plus-plus.ts'
import {
  BufferScope,
  type ComputePass,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  type Work,
} from '../device/contract.ts'
import { NO_LABEL } from './assign-lists.ts'
import { cpuJobs, type PlusPlusPart, type Run, type RunPart } from './plus-plus-jobs.ts'
import { choosePlusKernel, columnsRead, drawPlusKernel, measurePlusKernel, sumPlusKernel } from './plus-plus-kernels.ts'

export interface PlusPlusArgs {
  /** The points; they are numbered through all parts. Each part has at most `plusPlusPartRows` of them. */
  readonly parts: readonly PlusPlusPart[]
  /** Candidates for each centre, at most `MOST_TRIALS`. */
  readonly trials: number
  /** Random numbers from 0 to 1, [centres][trials]: as many centres are chosen. */
  readonly uniforms: Float32Array
}

/** Centres between two looks at the signal. */
const BATCH = 64
/** Numbers that one thread reads in about a tenth of a millisecond. */
const SMALL_STEP = 2 ** 20
/** Steps that read fewer numbers than this in all are done on the calling thread: handing them to another takes as long. */
const AT_ONCE_NUMBERS = 2 ** 22

/** As many as scikit-learn tries. */
export function plusPlusTrials(k: number): number {
  return Math.min(MOST_TRIALS, 2 + Math.floor(Math.log(k)))
}

/** Rows whose distances to all candidates fit one binding. */
export function plusPlusPartRows(bindingBytes: number, trials: number): number {
  return Math.max(1, Math.floor(bindingBytes / (4 * trials)))
}

/** Rows of all parts together: the potentials of their blocks fit one binding. */
export function plusPlusMostRows(bindingBytes: number, trials: number): number {
  return PLUS_BLOCK * Math.max(1, Math.floor(bindingBytes / (4 * trials)) - 1)
}

/**
 * Numbers of the chosen points, in order. Where every point with weight lies on a centre before all are chosen, the list
 * ends there.
 */
export async function plusPlus(device: Device, args: PlusPlusArgs, control: RunControl = {}): Promise<Uint32Array> {
  const scope = new BufferScope(device)
  try {
    const run = prepare(device, scope, args)
    for (let from = 0; from < run.count; from += BATCH) {
      const to = Math.min(run.count, from + BATCH)
      const work: Work = {
        name: 'plus-plus',
        *webgpu(gpu) {
          if (from === 0) for (const part of run.parts) yield* measurePasses(gpu, run, part, 0)
          for (let step = from; step < to; step++) yield* stepPasses(gpu, run, step)
          yield choosePass(gpu, run, to, 0)
        },
        *cpu(memory) {
          yield* cpuJobs(memory, run, from, to)
        },
      }
      const short = run.small && (to - from) * run.stepNumbers <= AT_ONCE_NUMBERS
      if (!(short && device.runAtOnce?.(work))) await device.run(work, { signal: control.signal })
      const [last] = new Uint32Array(await device.read({ buffer: run.chosen, offset: (to - 1) * 4, bytes: 4 }))
      control.signal?.throwIfAborted()
      control.onProgress?.(to / run.count)
      if (last === NO_LABEL) break
    }
    if (run.count === 0) return new Uint32Array()
    const chosen = new Uint32Array(await device.read({ buffer: run.chosen, offset: 0, bytes: run.count * 4 }))
    const ended = chosen.indexOf(NO_LABEL)
    return ended < 0 ? chosen : chosen.slice(0, ended)
  } finally {
    scope.free()
  }
}

function prepare(device: Device, scope: BufferScope, { parts, trials, uniforms }: PlusPlusArgs): Run {
  if (!(trials >= 1 && trials <= MOST_TRIALS)) throw new RangeError(`plus-plus: ${trials} trials`)
  const { type, stride } = parts[0].points
  const isCpu = device.info.kind === 'cpu'
  const scored = isCpu && type !== 'csr'
  let firstRow = 0
  let firstBlock = 0
  const own = parts.map((part): RunPart => {
    const { rows } = part.points
    const trial = scope.allocate(trials * rows * 4, 'distances to candidates')
    const blocks = Math.ceil(rows / PLUS_BLOCK)
    const cpu = isCpu && {
      marks: scope.allocate(blocks * 4, 'nearer candidates'),
      before: scope.allocate(blocks * 4, 'potentials without candidates'),
      lengths: scored ? scope.allocate(rows * 4, 'squared lengths') : undefined,
      slots: scored ? cleared(device, scope, rows * 4, 'nearest chosen centres') : undefined,
    }
    const placed = { ...part, firstRow, firstBlock, blocks, trial, ...(cpu ? { cpu } : {}) }
    firstRow += rows
    firstBlock += placed.blocks
    return placed
  })
  const count = uniforms.length / trials
  const lanes = Math.ceil(trials / 4) * 4
  const chosen = scope.upload(new Uint32Array(count).fill(NO_LABEL), 'chosen points')
  const stepNumbers = firstRow * trials * columnsRead(own[0].points)
  return {
    stepNumbers,
    small: own.length === 1 && stepNumbers <= SMALL_STEP,
    parts: own,
    blocks: firstBlock,
    trials,
    count,
    uniforms: scope.upload(uniforms, 'random numbers'),
    potentials: scope.allocate(trials * firstBlock * 4, 'potentials of blocks'),
    candidates: { buffer: cleared(device, scope, lanes * stride * 4, 'rows of candidates'), rows: lanes, stride },
    panels: scored ? cleared(device, scope, lanes * (stride + 1) * 4, 'packed candidates') : undefined,
    centers: scored ? scope.allocate(count * stride * 4, 'chosen centres') : undefined,
    spacing: scored ? cleared(device, scope, (1 + count) * lanes * 4, 'spacing of candidates') : undefined,
    state: scope.upload(new Uint32Array(STATE.words).fill(NO_LABEL), 'candidates'),
    chosen,
  }
}

function cleared(device: Device, scope: BufferScope, bytes: number, label: string): DeviceBuffer {
  const buffer = scope.allocate(bytes, label)
  device.clear(buffer)
  return buffer
}

/** The first step has one potential to draw by, the one before any of these centres. */
function* stepPasses(gpu: GpuTarget, run: Run, step: number): Generator<ComputePass> {
  yield choosePass(gpu, run, step, run.trials)
  for (const part of run.parts) yield drawPass(gpu, run, part)
  for (const part of run.parts) yield* measurePasses(gpu, run, part, run.trials)
}

function choosePass(gpu: GpuTarget, run: Run, step: number, draws: number): ComputePass {
  const { potentials, uniforms, state, chosen, blocks } = run
  const considered = step === 0 ? 1 : run.trials
  return choosePlusKernel.pass(gpu, { potentials, uniforms, state, chosen, blocks, considered, trials: draws, step })
}

function drawPass(gpu: GpuTarget, { state, candidates, trials }: Run, part: RunPart): ComputePass {
  return drawPlusKernel.pass(gpu, { ...part, rows: part.points.rows, state, candidates, trials })
}

function* measurePasses(gpu: GpuTarget, run: Run, part: RunPart, trials: number): Generator<ComputePass> {
  const { state, candidates, potentials } = run
  const given = { ...part, rows: part.points.rows, trials }
  if (trials > 0) yield* measurePlusKernel.passes(gpu, { ...given, state, candidates })
  yield sumPlusKernel.pass(gpu, { ...given, potentials, allBlocks: run.blocks })
}
