/** Codes for the vectors of the page, and how well neighbours are found by them. Runs in the worker. */
import {
  createRandom,
  type Device,
  type Matrix,
  matrix,
  nearest,
  Quantizer,
  type QuantizerType,
  recallAt,
  trainQuantizer,
} from '../../src/index.ts'

export interface CodeChoice {
  readonly type: Extract<QuantizerType, 'pq' | 'ck'>
  /** Bytes of a row's codes. */
  readonly m: number
  readonly seed: number
}

/** A quantizer as plain values, to go between page and worker. */
export type PlainQuantizer = Pick<Quantizer, 'codec' | 'facts'>

export interface Codes {
  readonly quantizer: PlainQuantizer
  /** One row of bytes for each row of the vectors. */
  readonly codes: Matrix
  readonly recall: Recall
}

export interface Recall {
  /** Rows asked for. */
  readonly queries: number
  /** Share of them whose nearest neighbour is among the 10 found by codes. */
  readonly first: number
  /** Share of their 10 nearest that are among the 10 found by codes. */
  readonly ten: number
}

/** Neighbours of one row, itself left out. */
export interface NeighborList {
  readonly rows: Uint32Array
  /** Not squared. */
  readonly distances: Float32Array
}

export interface Neighborhood {
  readonly exact: NeighborList
  readonly byCodes: NeighborList
}

export const NEAREST = 10
const CODEWORDS = 256
const QUERIES = 200
/** Rounds flatten out long before: these take seconds, not minutes. */
const ROUNDS = 10
/** Turning all of many dimensions costs their cube; of so many, the principal ones carry nearly everything. */
const WIDE = 128
const TURNED = 64

/** What the library is asked for. */
export function codeOptions({ type, m, seed }: CodeChoice, { rows, cols }: Pick<Matrix, 'rows' | 'cols'>) {
  const bytes = Math.min(m, cols)
  const rank = type === 'ck' && cols > WIDE ? { rank: Math.max(TURNED, bytes) } : {}
  return { type, m: bytes, codewords: Math.min(CODEWORDS, rows), iterations: ROUNDS, seed, ...rank }
}

interface Context {
  readonly device: Device
  readonly signal: AbortSignal
  progress(phase: string, share: number): void
}

/** A stop keeps what was learned so far: codes of a short training are codes. */
export async function learnCodes(vectors: Matrix, choice: CodeChoice, context: Context): Promise<Codes> {
  const { device, signal, progress } = context
  const quantizer = await trainQuantizer(vectors, {
    ...codeOptions(choice, vectors),
    device,
    signal,
    onIteration: ({ iteration }) => progress(`learning codes, round ${iteration}`, iteration / ROUNDS),
  })
  const onProgress = (share: number): void => progress('writing codes', share)
  const codes = await quantizer.encode(vectors, { device, onProgress })
  progress('measuring recall', 1)
  const { codec, facts } = quantizer
  return { quantizer: { codec, facts }, codes, recall: await measureRecall(vectors, quantizer, codes, choice, device) }
}

async function measureRecall(
  vectors: Matrix,
  quantizer: Quantizer,
  codes: Matrix,
  { seed }: CodeChoice,
  device: Device,
): Promise<Recall> {
  const random = createRandom(seed)
  const queries = Uint32Array.from({ length: Math.min(QUERIES, vectors.rows) }, () => random.below(vectors.rows))
  const { exact, byCodes } = await findNeighbors(vectors, quantizer, codes, queries, device)
  const lists = (data: Uint32Array) => ({ rows: queries.length, cols: data.length / queries.length, data })
  const width = exact.rows.length / queries.length
  let common = 0
  queries.forEach((_, i) => {
    const of = ({ rows }: NeighborList): Uint32Array => rows.subarray(i * width, (i + 1) * width)
    const found = new Set(of(byCodes))
    common += of(exact).filter((row) => found.has(row)).length
  })
  return {
    queries: queries.length,
    first: recallAt(lists(byCodes.rows), lists(exact.rows), NEAREST),
    ten: common / exact.rows.length,
  }
}

/** The 10 nearest of each row asked for, exactly and by codes. */
export async function findNeighbors(
  vectors: Matrix,
  { codec, facts }: PlainQuantizer,
  codes: Matrix,
  queries: Uint32Array,
  device: Device,
): Promise<Neighborhood> {
  const { data, cols, rows } = vectors
  const asked = queries.length
  const picked = data instanceof Uint8Array ? new Uint8Array(asked * cols) : new Float32Array(asked * cols)
  queries.forEach((row, i) => {
    picked.set(data.subarray(row * cols, (row + 1) * cols), i * cols)
  })
  const wanted = matrix(picked, asked, cols)
  // One more than is shown: the row finds itself too.
  const m = Math.min(NEAREST + 1, rows)
  const exact = await nearest(wanted, vectors, { m, device })
  const byCodes = await new Quantizer(codec, facts).search(codes, wanted, { nearest: m, device })
  return { exact: withoutSelf(exact, queries, m), byCodes: withoutSelf(byCodes, queries, m) }
}

/** Codes may not find the row itself: then the last of the list goes. */
function withoutSelf(
  { labels, distances }: { readonly labels: Uint32Array; readonly distances: Float32Array },
  queries: Uint32Array,
  m: number,
): NeighborList {
  const width = m - 1
  const rows = new Uint32Array(queries.length * width)
  const lengths = new Float32Array(rows.length)
  queries.forEach((self, i) => {
    let kept = 0
    for (let j = 0; j < m && kept < width; j++) {
      if (labels[i * m + j] === self) continue
      rows[i * width + kept] = labels[i * m + j]
      lengths[i * width + kept] = Math.sqrt(Math.max(0, distances[i * m + j]))
      kept++
    }
  })
  return { rows, distances: lengths }
}
