/**
 * Canopies (McCallum, Nigam and Ungar 2000), as compared with in Wang et al., "Fast approximate k-means
 * via cluster closures": the data is covered once by overlapping subsets, and a point looks only at
 * centres of its own subsets. Where this departs from the text:
 *
 * - Canopies are found on a random sample, by distances over all dimensions; the text projects by PCA
 *   first. A sample of a thousand is cheap enough as it is.
 * - A point belongs to its few nearest canopies, where the text takes all within a second, looser
 *   radius: in many dimensions distances are so alike that this would be none or nearly all of them.
 * - A centre stands in the one canopy nearest to it. That points belong to several makes the overlap,
 *   and no centre is met twice.
 *
 * The current centre of a point is always a candidate, so the objective never rises.
 */
import { sampleDistinct } from '../../core/random.ts'
import { stream } from '../../core/streams.ts'
import { BufferScope } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { assignLists, NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, type DeviceRows, writeRows } from '../../kernels/rows.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { type CandidateSource, type RunState, reportShare } from '../run-state.ts'
import { allCandidates } from './all.ts'

/** Points among which canopies are found. */
const SAMPLE = 1024
/** Canopies a point belongs to. */
const CANOPIES_OF_A_POINT = 8
/** Candidates given to the device at a time. */
const LIST_WIDTH = 32

interface Canopies {
  readonly count: number
  readonly middles: DeviceRows
  /** Canopies of each point, nearest first: [n][perPoint], NO_LABEL if there are fewer. */
  readonly ofPoints: Uint32Array
  readonly perPoint: number
}

/** Numbers of the centres canopy by canopy, rising: those of canopy c begin at starts[c]. */
interface Members {
  readonly starts: Uint32Array
  readonly centers: Uint32Array
}

export function canopyCandidates(state: RunState): CandidateSource {
  const everything = allCandidates()
  let canopies: Canopies | undefined
  let members: Members | undefined
  let membersOfRound = -1
  return {
    async assign(_state, part, given, round) {
      let vectors = given
      if (canopies === undefined) {
        canopies = await coverPoints(state)
        // That went through all parts: where they are streamed, others lie here now.
        vectors = await state.points.vectors(part)
      }
      if (canopies.count === 1) return everything.assign(state, part, vectors, round)
      if (members === undefined || membersOfRound !== round) {
        members = await placeCenters(state, canopies)
        membersOfRound = round
      }
      const evaluated = await assignByCanopy(state, part, vectors, canopies, members)
      if (!state.labelled) return evaluated
      const own = { lists: part.previous, width: 1, merge: true }
      const { labels, distances } = part
      await assignLists(state.device, { points: vectors, centers: state.centers, labels, distances, ...own })
      return Math.min(state.k * part.count, evaluated + part.count)
    },
  }
}

async function coverPoints(state: RunState): Promise<Canopies> {
  const { device, points, control } = state
  const radius = state.settings.canopyRadius as number
  const random = stream(state.seed, 'canopies')
  const sample = await points.gather(sampleDistinct(random, points.rows, Math.min(points.rows, SAMPLE)))
  const found = canopyMiddles(sample, points.cols, radius)
  const count = found.length / points.cols
  const middles = allocateRows(state.scope, count, points.cols, 'f32', 'middles of canopies')
  writeRows(device, middles, found)
  // Lists of the largest domain have to fit one binding.
  const fit = Math.floor(device.info.limits.bindingBytes / (4 * points.largestDomain))
  const perPoint = Math.max(1, Math.min(CANOPIES_OF_A_POINT, count, fit))
  const ofPoints = new Uint32Array(points.rows * perPoint)
  if (count === 1) return { count, middles, ofPoints, perPoint }
  const scope = new BufferScope(device)
  try {
    const labels = scope.allocate(points.largestPart * perPoint * 4, 'canopies of points')
    const distances = scope.allocate(points.largestPart * perPoint * 4, 'distances to canopies')
    const workspace = scope.allocate(assignWorkspaceBytes(middles), 'prepared middles')
    for (const part of state.parts) {
      const vectors = await points.vectors(part)
      const { signal } = control
      await assign(device, { points: vectors, centers: middles, labels, distances, m: perPoint, workspace }, { signal })
      const bytes = await device.read({ buffer: labels, offset: 0, bytes: part.count * perPoint * 4 })
      ofPoints.set(new Uint32Array(bytes), part.first * perPoint)
    }
    return { count, middles, ofPoints, perPoint }
  } finally {
    scope.free()
  }
}

/** Greedily: a point farther than the radius from all middles so far is the middle of another canopy. */
export function canopyMiddles(sample: Float32Array, cols: number, radius: number): Float32Array {
  const rows = sample.length / cols
  let total = 0
  for (let i = 1; i < rows; i++) total += Math.sqrt(squaredGap(sample, (i - 1) * cols, sample, i * cols, cols))
  const reach = rows > 1 ? (radius * total) / (rows - 1) : 0
  const middles = new Float32Array(sample.length)
  let filled = 0
  for (let at = 0; at < sample.length; at += cols) {
    let covered = false
    for (let middle = 0; middle < filled && !covered; middle += cols) {
      covered = squaredGap(sample, at, middles, middle, cols) <= reach * reach
    }
    if (covered) continue
    middles.set(sample.subarray(at, at + cols), filled)
    filled += cols
  }
  return middles.slice(0, filled)
}

function squaredGap(a: Float32Array, atA: number, b: Float32Array, atB: number, cols: number): number {
  let sum = 0
  for (let j = 0; j < cols; j++) sum += (a[atA + j] - b[atB + j]) ** 2
  return sum
}

/** Which centres stand in which canopy now. A canopy without any gets the nearest one, so no point is left alone. */
async function placeCenters(state: RunState, { count, middles }: Canopies): Promise<Members> {
  const { k, centers } = state
  const canopyOf = await nearestRows(state, centers, middles)
  const sizes = new Uint32Array(count)
  for (const canopy of canopyOf) sizes[canopy]++
  const nearestCenter = sizes.includes(0) ? await nearestRows(state, middles, centers) : undefined
  const starts = new Uint32Array(count + 1)
  for (let canopy = 0; canopy < count; canopy++) starts[canopy + 1] = starts[canopy] + Math.max(1, sizes[canopy])
  const ordered = new Uint32Array(starts[count])
  const next = starts.slice(0, count)
  for (let j = 0; j < k; j++) ordered[next[canopyOf[j]]++] = j
  for (let canopy = 0; canopy < count; canopy++) {
    if (sizes[canopy] === 0 && nearestCenter) ordered[starts[canopy]] = nearestCenter[canopy]
  }
  return { starts, centers: ordered }
}

async function nearestRows({ device }: RunState, rows: DeviceRows, among: DeviceRows): Promise<Uint32Array> {
  const scope = new BufferScope(device)
  try {
    const labels = scope.allocate(rows.rows * 4, 'nearest')
    const distances = scope.allocate(rows.rows * 4, 'distances to the nearest')
    const workspace = scope.allocate(assignWorkspaceBytes(among), 'prepared rows')
    await assign(device, { points: rows, centers: among, labels, distances, workspace })
    return new Uint32Array(await device.read(labels)).slice(0, rows.rows)
  } finally {
    scope.free()
  }
}

/** Lists go to the device a few places at a time, as all of them could be larger than the data. Returns how many there were. */
async function assignByCanopy(
  state: RunState,
  part: PointPart,
  vectors: DeviceRows,
  { ofPoints, perPoint }: Canopies,
  { starts, centers }: Members,
): Promise<number> {
  const { device, control } = state
  const { first, count, labels, distances } = part
  const width = Math.max(1, Math.min(LIST_WIDTH, Math.floor(device.info.limits.bindingBytes / (4 * count))))
  // Where each point's list goes on: which of its canopies, and which centre in there.
  const canopyAt = new Uint8Array(count)
  const centerAt = new Uint32Array(count)
  const chunk = new Uint32Array(count * width)
  const scope = new BufferScope(device)
  let evaluated = 0
  try {
    const lists = scope.allocate(chunk.byteLength, 'candidates')
    for (let pass = 0; ; pass++) {
      control.signal?.throwIfAborted()
      let filled = 0
      for (let i = 0; i < count; i++) {
        const from = (first + i) * perPoint
        const end = (i + 1) * width
        let place = i * width
        let slot = canopyAt[i]
        let center = centerAt[i]
        while (place < end && slot < perPoint) {
          const canopy = ofPoints[from + slot]
          const left = canopy === NO_LABEL ? 0 : starts[canopy + 1] - starts[canopy] - center
          if (left <= 0) {
            slot++
            center = 0
            continue
          }
          const taken = Math.min(left, end - place)
          const begin = starts[canopy] + center
          for (let t = 0; t < taken; t++) chunk[place + t] = centers[begin + t]
          place += taken
          center += taken
        }
        filled += place - i * width
        chunk.fill(NO_LABEL, place, end)
        canopyAt[i] = slot
        centerAt[i] = center
      }
      if (filled === 0) return evaluated
      evaluated += filled
      device.write(lists, chunk)
      const args = { points: vectors, centers: state.centers, lists, width, labels, distances, merge: pass > 0 }
      await assignLists(device, args)
      // How many passes there will be is not known; most of a list is done early.
      reportShare(state, part, 1 - 0.5 ** (pass + 1))
    }
  } finally {
    scope.free()
  }
}
