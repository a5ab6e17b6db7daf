/** What a run of plus-plus holds, and its steps for both devices: see plus-plus.ts. */
import { FARTHEST } from '../../shaders/pieces.ts'
import {
  choosePlusBody,
  drawPlusBody,
  measurePlusBody,
  PLUS_BLOCK,
  STATE,
  sumPlusBody,
} from '../../shaders/plus-plus.ts'
import type { CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { countOf, elements, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { type MatrixRows, READ_ROWS, VECTORS, WRITTEN_ROWS } from './kernel-fields.ts'
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

/** Of a part of the points. */
const PART_FIELDS = {
  points: VECTORS,
  rows: 'u32',
  weights: mayRead('f32'),
} as const

/** Where rows and blocks of the part begin among those of all points. */
const PLACE_FIELDS = { firstRow: 'u32', firstBlock: 'u32' } as const

const STEP_FIELDS = {
  /** Centres chosen before; 0: there are no candidates yet. */
  step: 'u32',
  /** Candidates for each centre. */
  trials: 'u32',
} as const

/** Keeps the best candidate, and draws the blocks of the next. One workgroup. */
export const choosePlusKernel = declareKernel('plus-plus-choose', {
  args: {
    ...STEP_FIELDS,
    /** Blocks of all points. */
    blocks: 'u32',
    /** Candidates to choose from. */
    considered: 'u32',
    /** [candidate][block] */
    potentials: reads('f32'),
    /** [step][trials] */
    uniforms: reads('f32'),
    state: writes('u32'),
    chosen: writes('u32'),
  },
  gpu: {
    body: choosePlusBody,
    workgroup: PLUS_BLOCK,
    grid: () => ({ groups: 1 }),
    operations: ({ considered, blocks }) => considered * blocks,
  },
})

/** Draws the candidates whose blocks lie in a part. A workgroup for each. */
export const drawPlusKernel = declareKernel('plus-plus-draw', {
  args: {
    ...PART_FIELDS,
    ...PLACE_FIELDS,
    /** Candidates to draw. */
    trials: 'u32',
    /** Blocks of the part. */
    blocks: 'u32',
    nearest: reads('f32'),
    trial: reads('f32'),
    state: writes('u32'),
    candidates: WRITTEN_ROWS,
  },
  gpu: {
    body: ({ points }) => drawPlusBody(points),
    workgroup: PLUS_BLOCK,
    grid: ({ trials }) => ({ groups: trials }),
    operations: ({ trials, points }) => trials * points.stride,
    forms: [{ points: 'f32' }, { points: 'u8' }, { points: 'csr' }],
  },
})

/** Distances to the candidates. */
export const measurePlusKernel = declareKernel('plus-plus-measure', {
  args: {
    points: VECTORS,
    rows: 'u32',
    trials: 'u32',
    nearest: writes('f32'),
    trial: writes('f32'),
    state: reads('u32'),
    candidates: READ_ROWS,
  },
  items: ({ rows }) => rows,
  gpu: {
    body: ({ points }) => measurePlusBody(points),
    cut: { params: ['first', 'count'], operations: ({ trials, points }) => 3 * trials * columnsRead(points) },
    forms: [{ points: 'f32' }, { points: 'u8' }, { points: 'csr' }],
  },
})

/** The potentials that candidates would leave; without candidates (`trials` 0) the potential as it is. */
export const sumPlusKernel = declareKernel('plus-plus-sum', {
  args: {
    rows: 'u32',
    /** Blocks of the part, where they begin, and blocks of all points. */
    blocks: 'u32',
    firstBlock: 'u32',
    allBlocks: 'u32',
    trials: 'u32',
    weights: mayRead('f32'),
    nearest: reads('f32'),
    trial: reads('f32'),
    potentials: writes('f32'),
  },
  gpu: {
    body: sumPlusBody,
    grid: ({ trials, blocks }) => Math.max(1, trials) * blocks,
    operations: ({ trials, rows }) => 3 * Math.max(1, trials) * rows,
  },
})

/** The CPU has one function for all phases: they share their arguments, and where steps are small one job goes through all of them. */
export const plusPlusKernel = declareKernel('plus-plus', {
  args: {
    ...PART_FIELDS,
    ...PLACE_FIELDS,
    ...STEP_FIELDS,
    /** A value of PHASE. */
    phase: 'u32',
    /** The step at which no more candidates are drawn, because the host reads the result first. */
    to: 'u32',
    /** Blocks of all points. */
    allBlocks: 'u32',
    nearest: writes('f32'),
    trial: writes('f32'),
    /** By block. */
    marks: writes('u32'),
    before: writes('f32'),
    lengths: mayWrite('f32'),
    slots: mayWrite('u32'),
    uniforms: reads('f32'),
    potentials: writes('f32'),
    candidates: WRITTEN_ROWS,
    panels: mayWrite('f32'),
    centers: mayWrite('f32'),
    spacing: mayWrite('f32'),
    state: writes('u32'),
    chosen: writes('u32'),
  },
  items({ phase, trials, marks }) {
    if (phase === PHASE.draw) return trials
    return phase === PHASE.begin || phase === PHASE.measure ? countOf(marks) : 1
  },
  cpu: {
    entry: 'plusPlus',
    scratch: {
      /** Scores of four rows with eight candidates. */
      scores: ({ phase }) => (measures(phase) ? 128 : 0),
      /** Rows of a block that need a measurement, and one bit for each candidate they may be nearer to. */
      doubtful: ({ phase }) => (measures(phase) ? PLUS_BLOCK * 4 : 0),
      doubts: ({ phase }) => (measures(phase) ? PLUS_BLOCK * 4 : 0),
      /** Four rows of bytes as floats. */
      floats: ({ phase, points }) => (measures(phase) && points.type === 'u8' ? 4 * points.stride * 4 : 0),
    },
    grain({ phase, step, trials, points }) {
      // Threads that write the spacings of neighbouring candidates disturb each other: much work must make up for it.
      if (phase === PHASE.draw) return Math.max(1, Math.round(1e6 / (1 + step * points.stride)))
      const measured = phase === PHASE.measure ? trials : 0
      return Math.max(1, Math.round(3e5 / (PLUS_BLOCK * (measured + 1) * columnsRead(points))))
    },
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

/** Numbers of one row. */
export function columnsRead(points: DeviceRows): number {
  return points.sparse ? meanEntries(points) : points.stride
}
