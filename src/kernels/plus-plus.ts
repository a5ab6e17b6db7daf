/**
 * plus-plus: greedy k-means++ over points on the device. For each next centre `trials` candidates are drawn, each with a
 * chance in proportion to weight * squared distance to the nearest centre so far; the one that leaves the lowest potential
 * (the sum of these products) becomes a centre. The host reads one word every `BATCH` centres.
 *
 * Distances are taken by differences, so that a point on a centre has no chance. Sums are taken in blocks and always in the
 * same order. Given the random numbers, the choice is that of a plain implementation up to rounding.
 * Cost: at most 3 n trials d operations a centre. A distance above that to the nearest centre does not matter: GPUs give up
 * taking it, and the CPU finds that out by scores, which cost less.
 */
import {
  choosePlusPlus,
  drawPlusPlus,
  MOST_TRIALS,
  measurePlusPlus,
  PLUS_BLOCK,
  STATE,
} from '../../shaders/plus-plus.ts'
import {
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
} from '../device/contract.ts'
import { cutRows, gridFor } from '../device/plan.ts'
import { NO_LABEL } from './assign-lists.ts'
import { type DeviceRows, kindOf, rowsAt } from './rows.ts'

export interface PlusPlusArgs {
  /** The points; they are numbered through all parts. Each part has at most `plusPlusPartRows` of them. */
  readonly parts: readonly PlusPlusPart[]
  /** Candidates for each centre, at most `MOST_TRIALS`. */
  readonly trials: number
  /** Random numbers from 0 to 1, [centres][trials]: as many centres are chosen. */
  readonly uniforms: Float32Array
}

export interface PlusPlusPart {
  readonly points: DeviceRows
  /** f32 [rows], 0 or more. Default: all 1. */
  readonly weights?: DeviceBuffer | undefined
  /** f32 [rows]: squared distance to the nearest centre there is already; changes. */
  readonly nearest: DeviceBuffer
}

/** Centres between two looks at the signal. */
const BATCH = 64
const KIND_SPARSE = 2

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
      await device.run(
        {
          name: 'plus-plus',
          *webgpu(gpu) {
            if (from === 0) for (const part of run.parts) yield* measurePasses(gpu, run, part, 0)
            for (let step = from; step < to; step++) yield* stepPasses(gpu, run, step)
            yield choosePass(run, to, 0)
          },
          *cpu(memory) {
            if (from === 0) for (const part of run.parts) yield measureJob(memory, run, part, 0)
            for (let step = from; step < to; step++) yield* stepJobs(memory, run, step)
            yield chooseJob(memory, run, to, 0)
          },
        },
        { signal: control.signal },
      )
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

interface RunPart extends PlusPlusPart {
  readonly firstRow: number
  readonly firstBlock: number
  readonly blocks: number
  /** f32 [trials][rows]: squared distances to the candidates. */
  readonly trial: DeviceBuffer
  /** f32 [rows]: squared lengths. Only of dense rows on the CPU. */
  readonly lengths: DeviceBuffer | undefined
}

interface Run {
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
  /** The same packed for scores. Only of dense rows on the CPU. */
  readonly panels: DeviceBuffer | undefined
  readonly panelBytes: number
  readonly state: DeviceBuffer
  readonly chosen: DeviceBuffer
}

function prepare(device: Device, scope: BufferScope, { parts, trials, uniforms }: PlusPlusArgs): Run {
  if (!(trials >= 1 && trials <= MOST_TRIALS)) throw new RangeError(`plus-plus: ${trials} trials`)
  const { type, stride } = parts[0].points
  const scored = device.info.kind === 'cpu' && type !== 'csr'
  let firstRow = 0
  let firstBlock = 0
  const own = parts.map((part): RunPart => {
    const { rows } = part.points
    const trial = scope.allocate(trials * rows * 4, 'distances to candidates')
    const lengths = scored ? scope.allocate(rows * 4, 'squared lengths') : undefined
    const placed = { ...part, firstRow, firstBlock, blocks: Math.ceil(rows / PLUS_BLOCK), trial, lengths }
    firstRow += rows
    firstBlock += placed.blocks
    return placed
  })
  const count = uniforms.length / trials
  const lanes = Math.ceil(trials / 4) * 4
  const candidateBytes = lanes * stride * 4
  const panelBytes = lanes * (stride + 1) * 4
  const chosen = scope.upload(new Uint32Array(count).fill(NO_LABEL), 'chosen points')
  const candidates = scope.allocate(candidateBytes, 'rows of candidates')
  device.clear(candidates)
  const panels = scored ? scope.allocate(panelBytes, 'packed candidates') : undefined
  if (panels) device.clear(panels)
  return {
    parts: own,
    blocks: firstBlock,
    trials,
    count,
    uniforms: scope.upload(uniforms, 'random numbers'),
    potentials: scope.allocate(trials * firstBlock * 4, 'potentials of blocks'),
    candidates,
    candidateBytes,
    panels,
    panelBytes,
    state: scope.upload(new Uint32Array(STATE.words).fill(NO_LABEL), 'candidates'),
    chosen,
  }
}

/** The first step has one potential to draw by, the one before any of these centres. */
function* stepPasses(gpu: GpuTarget, run: Run, step: number): Generator<ComputePass> {
  yield choosePass(run, step, run.trials)
  for (const part of run.parts) yield drawPass(run, part)
  for (const part of run.parts) yield* measurePasses(gpu, run, part, run.trials)
}

function* stepJobs(memory: CpuMemory, run: Run, step: number): Generator<CpuJob> {
  yield chooseJob(memory, run, step, run.trials)
  for (const part of run.parts) yield drawJob(memory, run, part)
  for (const part of run.parts) yield measureJob(memory, run, part, run.trials)
}

function choosePass(run: Run, step: number, draws: number): ComputePass {
  const considered = step === 0 ? 1 : run.trials
  return {
    shader: choosePlusPlus,
    bindings: [run.potentials, run.uniforms, run.state, run.chosen],
    params: [run.blocks, considered, draws, step],
    groups: [1],
    operations: considered * run.blocks,
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
    ],
  }
}

function drawPass(run: Run, part: RunPart): ComputePass {
  const { points, nearest, trial } = part
  return {
    shader: drawPlusPlus(points.type),
    bindings: [nearest, trial, part.weights ?? nearest, run.state, run.candidates, ...rowBindings(points)],
    params: [
      part.firstBlock,
      part.blocks,
      part.firstRow,
      points.rows,
      points.stride / 4,
      part.weights ? 1 : 0,
      points.sparse?.columnsAt ?? 0,
    ],
    groups: [run.trials],
    operations: run.trials * points.stride,
  }
}

function drawJob(memory: CpuMemory, run: Run, part: RunPart): CpuJob {
  return {
    entry: 'drawPlusPlus',
    items: run.trials,
    grain: run.trials,
    args: [
      ...rowAddresses(memory, part.points),
      part.firstBlock,
      part.firstRow,
      ...distanceAddresses(memory, run, part),
      run.trials,
      run.panels ? memory.address(run.panels, run.panelBytes) : 0,
    ],
  }
}

function* measurePasses(gpu: GpuTarget, run: Run, part: RunPart, trials: number): Generator<ComputePass> {
  const { points, nearest, trial } = part
  const perBlock = PLUS_BLOCK * 3 * (trials + 1) * columnsRead(points)
  const most = Math.max(1, Math.floor(gpu.operationsPerPass / perBlock))
  for (const { start, end } of cutRows(part.blocks, most)) {
    yield {
      shader: measurePlusPlus(points.type),
      bindings: [
        nearest,
        trial,
        // Bound for reading beside two that are written: it must be another buffer.
        part.weights ?? run.uniforms,
        run.state,
        run.potentials,
        run.candidates,
        ...rowBindings(points),
      ],
      params: [
        start,
        end,
        points.rows,
        points.stride / 4,
        trials,
        part.weights ? 1 : 0,
        part.firstBlock,
        run.blocks,
        points.sparse?.columnsAt ?? 0,
      ],
      groups: gridFor((end - start) * PLUS_BLOCK, PLUS_BLOCK, gpu.limits.workgroups),
      operations: (end - start) * perBlock,
    }
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
      run.panels ? memory.address(run.panels, run.panelBytes) : 0,
      part.lengths ? memory.address(part.lengths, points.rows * 4) : 0,
      memory.address(run.potentials, run.trials * run.blocks * 4),
    ],
    scratchBytes: 128 + (points.type === 'u8' ? points.stride * 16 : 0),
  }
}

/** Values, and for sparse rows where they belong. */
function rowBindings({ buffer, sparse }: DeviceRows): DeviceBuffer[] {
  return sparse ? [buffer, sparse.places] : [buffer]
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
    weights ? memory.address(weights, points.rows * 4) : 0,
    memory.address(nearest, points.rows * 4),
    memory.address(trial, run.trials * points.rows * 4),
    memory.address(run.candidates, run.candidateBytes),
    memory.address(run.state, STATE.words * 4),
  ]
}

/** Numbers of one row. */
function columnsRead(points: DeviceRows): number {
  if (points.sparse) return Math.ceil(points.sparse.entries / Math.max(1, points.rows)) + 1
  return points.stride
}
