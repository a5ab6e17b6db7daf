/** What plus-plus declares: its steps on WebGPU, and its function on the CPU, which does them all. */

import {
  choosePlusBody,
  drawPlusBody,
  measurePlusBody,
  PLUS_BLOCK,
  STATE,
  sumPlusBody,
} from '../../shaders/plus-plus.ts'
import { FARTHEST } from '../../shaders/snippets.ts'
import { countOf, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS, VECTORS, WRITTEN_ROWS } from './kernel-fields.ts'
import { type DeviceRows, meanEntries } from './rows.ts'

/** What a job does. */
export const PHASE = {
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

/** Numbers of one row. */
export function columnsRead(points: DeviceRows): number {
  return points.sparse ? meanEntries(points) : points.stride
}
