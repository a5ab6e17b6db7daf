/**
 * Centres step towards points, batch after batch, before the round's points choose. The points of a
 * batch choose among centres as they stood before it (on the device), then each pulls its centre in
 * turn (on the host): a step is 1 / count (mini-batch) or a falling rate (LVQ) of the way.
 *
 * A round takes every point once, in random order within each part of the points, so that parts can
 * be streamed. The objective may rise.
 */
import { shuffle } from '../../core/random.ts'
import { stream } from '../../core/streams.ts'
import { BufferScope } from '../../device/contract.ts'
import { assign } from '../../kernels/assign.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, type DeviceRows, denseType, firstRows, rowBytesOf } from '../../kernels/rows.ts'
import type { RunState, Update } from '../run-state.ts'
import { meansFromLabels } from './mean.ts'

/** Fewer than one centre in this many is considered few. */
const FEW = 64

/** How far a centre goes towards a point, 0 to 1; `count` points pulled it before, this one included. */
export type StepLength = (count: number, iteration: number) => number

export function stepUpdate(state: RunState, stepLength: StepLength): Update {
  const { device, k } = state
  let counts = new Uint32Array(k)
  return {
    async ahead(_state, _source, iteration) {
      const pulls = await pullsSoFar(state, iteration)
      const step = (center: number): number => stepLength(++pulls[center], iteration)
      await stepThroughPoints(state, iteration, step)
    },
    // Means are what there is to step from.
    startFromLabels: () => meansFromLabels(state),
    reset: () => {
      counts.fill(0)
    },
    async addPart(_state, part) {
      const labels = new Uint32Array(await device.read(part.labels), 0, part.count)
      for (const label of labels) counts[label]++
    },
    partial: async () => ({ exact: [], counts: [counts], values: [] }),
    absorb(_state, merged) {
      counts = merged.counts[0].slice()
    },
    async finish() {
      let empty = 0
      for (const count of counts) if (count === 0) empty++
      return { gain: 0, empty }
    },
  }
}

/**
 * How often each centre was pulled. Rounds before count as if each had pulled a centre by the points
 * it has now: that needs no memory beyond labels, so a run can be resumed from a model.
 */
async function pullsSoFar({ points, k }: RunState, iteration: number): Promise<Float64Array> {
  const pulls = new Float64Array(k)
  if (iteration === 1) return pulls
  for (const label of await points.readLabels()) if (label !== NO_LABEL) pulls[label] += iteration - 1
  return pulls
}

async function stepThroughPoints(state: RunState, iteration: number, step: (center: number) => number): Promise<void> {
  const { device, centers, control } = state
  // Centres move one batch after the other: one device goes through all points.
  const points = await state.points.onFirstDevice()
  const size = Math.min(state.settings.batch as number, points.largestPart)
  const random = stream(state.seed, 'steps', iteration)
  const scope = new BufferScope(device)
  try {
    const rows = allocateRows(scope, size, points.cols, points.frame.type, 'vectors of a batch')
    const labels = scope.allocate(size * 4, 'labels of a batch')
    const distances = scope.allocate(size * 4, 'distances of a batch')
    const host = new Float32Array(await device.read(centers.buffer))
    for (const part of points.parts) {
      const vectors = await points.vectors(part)
      const order = Uint32Array.from({ length: part.count }, (_, i) => i)
      shuffle(random, order)
      for (let first = 0; first < part.count; first += size) {
        control.signal?.throwIfAborted()
        const chosen = order.subarray(first, Math.min(first + size, part.count))
        copyRows(state, vectors, chosen, rows)
        const batch = firstRows(rows, chosen.length)
        const { assignWorkspace: workspace } = state
        await assign(device, { points: batch, centers, labels, distances, workspace }, { signal: control.signal })
        const [bytes, nearest] = await Promise.all([device.read(rows.buffer), device.read(labels)])
        const data = points.frame.type === 'u8' ? new Uint8Array(bytes) : new Float32Array(bytes)
        const touched = pull(host, data, new Uint32Array(nearest, 0, chosen.length), points.stride, step)
        if (state.unit) for (const center of touched) toUnit(host, center * points.stride, points.stride)
        writeTouched(state, host, touched)
      }
    }
  } finally {
    scope.free()
  }
}

function copyRows({ device }: RunState, from: DeviceRows, indices: Uint32Array, to: DeviceRows): void {
  const bytes = rowBytesOf(from.cols, denseType(from))
  indices.forEach((row, i) => {
    device.copy({ buffer: from.buffer, offset: row * bytes, bytes }, { buffer: to.buffer, offset: i * bytes, bytes })
  })
}

/** Single rows where few centres of many moved. */
function writeTouched({ device, centers, k, points }: RunState, host: Float32Array, touched: Set<number>): void {
  const { stride } = points
  if (touched.size * FEW > k) device.write(centers.buffer, host)
  else {
    for (const center of touched) {
      device.write(centers.buffer, host.subarray(center * stride, (center + 1) * stride), center * stride * 4)
    }
  }
}

/** One point after the other, in the order of the batch. Returns the centres that moved. */
function pull(
  centers: Float32Array,
  data: Uint8Array | Float32Array,
  labels: Uint32Array,
  stride: number,
  step: (center: number) => number,
): Set<number> {
  const touched = new Set<number>()
  labels.forEach((label, i) => {
    const share = step(label)
    const center = label * stride
    for (let j = 0; j < stride; j++) centers[center + j] += share * (data[i * stride + j] - centers[center + j])
    touched.add(label)
  })
  return touched
}

/** A centre pulled to zero, between opposite points, has no direction and stays there until the next pull. */
function toUnit(centers: Float32Array, at: number, stride: number): void {
  let squares = 0
  for (let j = 0; j < stride; j++) squares += centers[at + j] ** 2
  if (squares === 0) return
  const factor = 1 / Math.sqrt(squares)
  for (let j = 0; j < stride; j++) centers[at + j] *= factor
}
