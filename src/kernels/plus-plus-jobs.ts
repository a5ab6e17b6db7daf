/** What a run of plus-plus holds, and its jobs for the CPU: see plus-plus.ts. */
import { FARTHEST } from '../../shaders/pieces.ts'
import { PLUS_BLOCK, STATE } from '../../shaders/plus-plus.ts'
import type { CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { declareFunction, type JobItems, SharedConstants, VECTORS } from './declared-function.ts'
import { type DeviceRows, meanEntries } from './rows.ts'

/** What a job does. */
const PHASE = {
  /** Items are blocks: the potential before any candidate, and squared lengths of dense rows. */
  begin: 0,
  /** One item: takes the best candidate as a centre and draws the blocks of the next candidates. */
  choose: 1,
  /** Items are candidates: draws a point of the block. */
  draw: 2,
  /** Items are blocks: measures the candidates. */
  measure: 3,
  /** One item: all phases of the steps `step` to `to`, where points are in one part. */
  steps: 4,
} as const

export const plusPlusConstants = new SharedConstants({
  FAR: { type: 'f32', value: FARTHEST },
  PLUS_BLOCK: { type: 'u32', value: PLUS_BLOCK },
  PLUS_BEGIN: { type: 'u32', value: PHASE.begin },
  PLUS_CHOOSE: { type: 'u32', value: PHASE.choose },
  PLUS_DRAW: { type: 'u32', value: PHASE.draw },
  PLUS_MEASURE: { type: 'u32', value: PHASE.measure },
  // Where things are in the state, in bytes.
  PLUS_BEST: { type: 'u32', value: STATE.best * 4 },
  PLUS_SLOT: { type: 'u32', value: STATE.slot * 4 },
  PLUS_CANDIDATES: { type: 'u32', value: STATE.candidates * 4 },
  PLUS_BLOCKS: { type: 'u32', value: STATE.blocks * 4 },
  PLUS_SKIPS: { type: 'u32', value: STATE.skips * 4 },
  PLUS_SQUARES: { type: 'u32', value: STATE.squares * 4 },
})

/** One function for all phases: they share their arguments, and where steps are small one job goes through all of them. */
export const plusPlusFunction = declareFunction('plusPlus', {
  args: {
    /** A value of PHASE. */
    phase: 'u32',
    /** Centres chosen before. */
    step: 'u32',
    /** The step at which no more candidates are drawn, because the host reads the result first. */
    to: 'u32',
    trials: 'u32',
    points: VECTORS,
    rows: 'u32',
    /** Where rows and blocks of the part begin among those of all points. */
    firstRow: 'u32',
    firstBlock: 'u32',
    /** Blocks of all points. */
    allBlocks: 'u32',
    weights: mayRead('f32'),
    nearest: writes('f32'),
    trial: writes('f32'),
    marks: writes('u32'),
    before: writes('f32'),
    lengths: mayWrite('f32'),
    slots: mayWrite('u32'),
    uniforms: reads('f32'),
    potentials: writes('f32'),
    candidates: writes('f32'),
    panels: mayWrite('f32'),
    centers: mayWrite('f32'),
    spacing: mayWrite('f32'),
    state: writes('u32'),
    chosen: writes('u32'),
  },
  scratch: {
    /** Scores of four rows with eight candidates. */
    scores: ({ phase }) => (measures(phase) ? 128 : 0),
    /** Rows of a block that need a measurement, and one bit for each candidate they may be nearer to. */
    doubtful: ({ phase }) => (measures(phase) ? PLUS_BLOCK * 4 : 0),
    doubts: ({ phase }) => (measures(phase) ? PLUS_BLOCK * 4 : 0),
    /** Four rows of bytes as floats. */
    floats: ({ phase, points }) => (measures(phase) && points.type === 'u8' ? 4 * points.stride * 4 : 0),
  },
})

function measures(phase: number): boolean {
  return phase === PHASE.measure || phase === PHASE.steps
}

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
  const one = { items: 1, grain: 1 }
  const job = (phase: number, part: RunPart, step: number, items: JobItems): CpuJob =>
    plusPlusFunction.job(memory, { phase, step, to, ...valuesOf(run, part) }, items)
  const [first] = run.parts
  if (run.small) {
    yield job(PHASE.steps, first, from, one)
    return
  }
  if (from === 0) for (const part of run.parts) yield job(PHASE.begin, part, 0, blockItems(part, 0))
  for (let step = from; step < to; step++) {
    yield job(PHASE.choose, first, step, one)
    for (const part of run.parts) {
      // Threads that write the spacings of neighbouring candidates disturb each other: much work must make up for it.
      const grain = Math.max(1, Math.round(1e6 / (1 + step * part.points.stride)))
      yield job(PHASE.draw, part, step, { items: run.trials, grain })
    }
    for (const part of run.parts) yield job(PHASE.measure, part, step, blockItems(part, run.trials))
  }
  yield job(PHASE.choose, first, to, one)
}

function blockItems({ points, blocks }: RunPart, trials: number): JobItems {
  const perBlock = PLUS_BLOCK * (trials + 1) * columnsRead(points)
  return { items: blocks, grain: Math.max(1, Math.round(3e5 / perBlock)) }
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
    candidates: elements(run.candidates),
    panels: elements(run.panels),
    centers: elements(run.centers),
    spacing: elements(run.spacing),
    state: elements(run.state, STATE.words),
    chosen: elements(run.chosen, count),
  }
}

/** Numbers of one row. */
export function columnsRead(points: DeviceRows): number {
  return points.sparse ? meanEntries(points) : points.stride
}
