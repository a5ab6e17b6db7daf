/** What a run of plus-plus holds, and its jobs for the CPU: see plus-plus.ts. */
import { PLUS_BLOCK, STATE } from '../../shaders/plus-plus.ts'
import type { CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { type DeviceRows, kindOf, rowsAt } from './rows.ts'

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
  /** u32 [blocks]: one bit for each candidate that is the nearest centre of a point of the block. Only on the CPU. */
  readonly marks: DeviceBuffer | undefined
  /** f32 [blocks]: the potential without candidates. Only on the CPU. */
  readonly before: DeviceBuffer | undefined
  /** f32 [rows]: squared lengths. Only of dense rows on the CPU. */
  readonly lengths: DeviceBuffer | undefined
  /** u32 [rows]: which of the chosen centres is nearest, from 1; 0: none of them. Only of dense rows on the CPU. */
  readonly slots: DeviceBuffer | undefined
}

export interface Run {
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
  readonly candidates: DeviceBuffer
  readonly candidateBytes: number
  /** The same packed for scores. Only of dense rows on the CPU, as what follows. */
  readonly panels: DeviceBuffer | undefined
  readonly panelBytes: number
  /** f32 [centres][stride]: those chosen so far. */
  readonly centers: DeviceBuffer | undefined
  readonly centerBytes: number
  /** f32 [1 + centres][lanes]: how far candidates are from centres. The first row, for points of no slot, stays 0. */
  readonly spacing: DeviceBuffer | undefined
  readonly spacingBytes: number
  readonly state: DeviceBuffer
  readonly chosen: DeviceBuffer
}

const KIND_SPARSE = 2

/** The steps `from` to `to`, with what comes before the first and after the last of them. */
export function* cpuJobs(memory: CpuMemory, run: Run, from: number, to: number): Generator<CpuJob> {
  if (run.small) {
    yield stepsJob(memory, run, from, to)
    return
  }
  if (from === 0) for (const part of run.parts) yield measureJob(memory, run, part, 0)
  for (let step = from; step < to; step++) {
    yield chooseJob(memory, run, step, run.trials)
    for (const part of run.parts) yield drawJob(memory, run, part, step)
    for (const part of run.parts) yield measureJob(memory, run, part, run.trials)
  }
  yield chooseJob(memory, run, to, 0)
}

function stepsJob(memory: CpuMemory, run: Run, from: number, to: number): CpuJob {
  const [part] = run.parts
  const { points } = part
  return {
    entry: 'stepPlusPlus',
    items: 1,
    grain: 1,
    args: [
      from,
      to,
      ...rowAddresses(memory, points),
      ...distanceAddresses(memory, run, part),
      run.trials,
      ...measureAddresses(memory, run, part),
      optional(memory, run.centers, run.centerBytes),
      memory.address(run.uniforms, run.count * run.trials * 4),
      memory.address(run.chosen, run.count * 4),
    ],
    scratchBytes: scratchBytes(points),
  }
}

function chooseJob(memory: CpuMemory, run: Run, step: number, draws: number): CpuJob {
  const { blocks, trials, count } = run
  return {
    entry: 'choosePlusPlus',
    items: 1,
    grain: 1,
    args: [
      memory.address(run.potentials, trials * blocks * 4),
      blocks,
      step === 0 ? 1 : trials,
      draws,
      step,
      memory.address(run.uniforms, count * trials * 4),
      memory.address(run.state, STATE.words * 4),
      memory.address(run.chosen, count * 4),
      memory.address(run.candidates, run.candidateBytes),
      run.parts[0].points.stride,
      optional(memory, run.centers, run.centerBytes),
    ],
  }
}

function drawJob(memory: CpuMemory, run: Run, part: RunPart, step: number): CpuJob {
  return {
    entry: 'drawPlusPlus',
    items: run.trials,
    // Threads that write the spacings of neighbouring candidates disturb each other: much work must make up for it.
    grain: Math.max(1, Math.round(1e6 / (1 + step * part.points.stride))),
    args: [
      ...rowAddresses(memory, part.points),
      part.firstBlock,
      part.firstRow,
      ...distanceAddresses(memory, run, part),
      run.trials,
      optional(memory, run.panels, run.panelBytes),
      optional(memory, part.marks, part.blocks * 4),
      optional(memory, run.centers, run.centerBytes),
      optional(memory, run.spacing, run.spacingBytes),
    ],
  }
}

function measureJob(memory: CpuMemory, run: Run, part: RunPart, trials: number): CpuJob {
  const { points } = part
  return {
    entry: 'measurePlusPlus',
    items: part.blocks,
    grain: Math.max(1, Math.round(3e5 / (PLUS_BLOCK * (trials + 1) * columnsRead(points)))),
    args: [
      ...rowAddresses(memory, points),
      part.firstBlock,
      run.blocks,
      ...distanceAddresses(memory, run, part),
      trials,
      ...measureAddresses(memory, run, part),
    ],
    scratchBytes: scratchBytes(points),
  }
}

function measureAddresses(memory: CpuMemory, run: Run, part: RunPart): number[] {
  const { rows } = part.points
  return [
    optional(memory, run.panels, run.panelBytes),
    optional(memory, part.lengths, rows * 4),
    memory.address(run.potentials, run.trials * run.blocks * 4),
    optional(memory, part.marks, part.blocks * 4),
    optional(memory, part.before, part.blocks * 4),
    optional(memory, part.slots, rows * 4),
    optional(memory, run.spacing, run.spacingBytes),
  ]
}

function scratchBytes({ type, stride }: DeviceRows): number {
  return 640 + (type === 'u8' ? stride * 16 : 0)
}

/** 0, which kernels take for absent, without a buffer. */
function optional(memory: CpuMemory, buffer: DeviceBuffer | undefined, bytes: number): number {
  return buffer ? memory.address(buffer, bytes) : 0
}

function rowAddresses(memory: CpuMemory, rows: DeviceRows): number[] {
  const { buffer, sparse, stride } = rows
  if (sparse === undefined) return [rowsAt(memory, rows), kindOf(rows), stride, 0, 0]
  const { places, columnsAt, entries } = sparse
  return [
    memory.address(buffer, entries * 4),
    KIND_SPARSE,
    stride,
    memory.address(places, (columnsAt + entries) * 4),
    columnsAt,
  ]
}

function distanceAddresses(memory: CpuMemory, run: Run, { points, weights, nearest, trial }: RunPart): number[] {
  return [
    points.rows,
    optional(memory, weights, points.rows * 4),
    memory.address(nearest, points.rows * 4),
    memory.address(trial, run.trials * points.rows * 4),
    memory.address(run.candidates, run.candidateBytes),
    memory.address(run.state, STATE.words * 4),
  ]
}

/** Numbers of one row. */
export function columnsRead(points: DeviceRows): number {
  if (points.sparse) return Math.ceil(points.sparse.entries / Math.max(1, points.rows)) + 1
  return points.stride
}
