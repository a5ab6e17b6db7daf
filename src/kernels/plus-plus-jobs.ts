/** What a run of plus-plus holds, and its jobs for the CPU: see plus-plus.ts. */
import { STATE } from '../../shaders/plus-plus.ts'
import type { CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { elements } from '../device/fields.ts'
import type { MatrixRows } from './kernel-fields.ts'
import { PHASE, plusPlusKernel } from './plus-plus-kernels.ts'
import type { DeviceRows } from './rows.ts'

export interface PlusPlusPart {
  readonly points: DeviceRows
  /** f32 [rows], 0 or more. Default: all 1. */
  readonly weights?: DeviceBuffer | undefined
  /** f32 [rows]: squared distance to the nearest centre there is already; changes. */
  readonly nearest: DeviceBuffer
}

export interface RunPart extends PlusPlusPart {
  readonly firstRow: number
  readonly firstBlock: number
  readonly blocks: number
  /** f32 [trials][rows]: squared distances to the candidates. */
  readonly trial: DeviceBuffer
  /** Only on the CPU. */
  readonly cpu?: {
    /** u32 [blocks]: one bit for each candidate that is the nearest centre of a point of the block. */
    readonly marks: DeviceBuffer
    /** f32 [blocks]: the potential without candidates. */
    readonly before: DeviceBuffer
    /** f32 [rows]: squared lengths. Only of dense rows. */
    readonly lengths: DeviceBuffer | undefined
    /** u32 [rows]: which of the chosen centres is nearest, from 1; 0: none of them. Only of dense rows. */
    readonly slots: DeviceBuffer | undefined
  }
}

export interface Run {
  /** About how many numbers a step reads. */
  readonly stepNumbers: number
  /** Steps so small that threads would take longer to meet than to work: one of them does them all. */
  readonly small: boolean
  readonly parts: readonly RunPart[]
  readonly blocks: number
  readonly trials: number
  readonly count: number
  readonly uniforms: DeviceBuffer
  /** f32 [trials][blocks]: the potential of each block with each candidate. */
  readonly potentials: DeviceBuffer
  /** Rows of the candidates in full: room for a multiple of four, which GPUs measure at a time. */
  readonly candidates: MatrixRows
  /** The same packed for scores. Only of dense rows on the CPU, as what follows. */
  readonly panels: DeviceBuffer | undefined
  /** f32 [centres][stride]: those chosen so far. */
  readonly centers: DeviceBuffer | undefined
  /** f32 [1 + centres][lanes]: how far candidates are from centres. The first row, for points of no slot, stays 0. */
  readonly spacing: DeviceBuffer | undefined
  readonly state: DeviceBuffer
  readonly chosen: DeviceBuffer
}

/** The steps `from` to `to`, with what comes before the first and after the last of them. */
export function* cpuJobs(memory: CpuMemory, run: Run, from: number, to: number): Generator<CpuJob> {
  const job = (phase: number, part: RunPart, step: number): CpuJob =>
    plusPlusKernel.job(memory, { phase, step, to, ...valuesOf(run, part) })
  const [first] = run.parts
  if (run.small) {
    yield job(PHASE.steps, first, from)
    return
  }
  if (from === 0) for (const part of run.parts) yield job(PHASE.begin, part, 0)
  for (let step = from; step < to; step++) {
    yield job(PHASE.choose, first, step)
    for (const part of run.parts) yield job(PHASE.draw, part, step)
    for (const part of run.parts) yield job(PHASE.measure, part, step)
  }
  yield job(PHASE.choose, first, to)
}

function valuesOf(run: Run, { points, weights, nearest, trial, cpu, firstRow, firstBlock, blocks }: RunPart) {
  if (cpu === undefined) throw new Error('this run was prepared for another device')
  const { rows } = points
  const { trials, count } = run
  return {
    trials,
    points,
    rows,
    firstRow,
    firstBlock,
    allBlocks: run.blocks,
    weights: elements(weights, rows),
    nearest: elements(nearest, rows),
    trial: elements(trial, trials * rows),
    marks: elements(cpu.marks, blocks),
    before: elements(cpu.before, blocks),
    lengths: elements(cpu.lengths, rows),
    slots: elements(cpu.slots, rows),
    uniforms: elements(run.uniforms, count * trials),
    potentials: elements(run.potentials, trials * run.blocks),
    candidates: run.candidates,
    panels: elements(run.panels),
    centers: elements(run.centers),
    spacing: elements(run.spacing),
    state: elements(run.state, STATE.words),
    chosen: elements(run.chosen, count),
  }
}
