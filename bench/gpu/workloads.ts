/** Calls of the library that run all kernels between them. Rounds are few: kernels are timed, not results. */
import {
  blobs,
  CodeIndex,
  cluster,
  createRandom,
  type Device,
  InvertedFile,
  type Matrix,
  METHODS,
  type MethodName,
  matrix,
  nearest,
  partitionTrees,
  type SparseMatrix,
  sparseMatrix,
  trainQuantizer,
} from '../../src/index.ts'

export interface Sizes {
  readonly rows: number
  readonly cols: number
  readonly k: number
}

export interface Workload {
  readonly name: string
  run(device: Device): Promise<unknown>
}

const ROUNDS = 3
/** Mixtures that find k begin with every point as a component; fewer points keep that short. */
const FINDS_K: readonly MethodName[] = ['agm', 'egm']
const SPARSE: readonly MethodName[] = ['lloyd', 'sharp']

export function workloads({ rows, cols, k }: Sizes): Workload[] {
  const { vectors: floats } = blobs({ rows, cols, clusters: k, seed: 3 })
  const bytes = toBytes(floats)
  const sparse = randomSparse(rows, cols * 8)
  const few = matrix(floats.data.slice(0, Math.min(rows, 4096) * cols), Math.min(rows, 4096), cols)
  const list: Workload[] = []
  for (const method of Object.keys(METHODS) as MethodName[]) {
    const finds = FINDS_K.includes(method)
    const options = { method, iterations: ROUNDS, seed: 1, ...(finds ? {} : { k }) }
    list.push({ name: method, run: (device) => cluster(finds ? few : floats, { ...options, device }) })
  }
  for (const method of ['lloyd', 'closures-sharp'] as const) {
    const options = { method, k, iterations: ROUNDS, seed: 1 }
    list.push({ name: `${method}, bytes`, run: (device) => cluster(bytes, { ...options, device }) })
  }
  const shards = { k, method: 'lloyd', shards: 2, iterations: ROUNDS, seed: 1 } as const
  list.push({ name: 'lloyd, shards', run: (device) => cluster(floats, { ...shards, device }) })
  const overlap = { method: 'egm', criterion: 'overlap', iterations: ROUNDS, seed: 1 } as const
  list.push({ name: 'egm, overlap', run: (device) => cluster(few, { ...overlap, device }) })
  for (const method of SPARSE) {
    const options = { method, k: Math.min(k, 64), iterations: ROUNDS, seed: 1 }
    list.push({ name: `${method}, sparse`, run: (device) => cluster(sparse, { ...options, device }) })
  }
  const centers = matrix(floats.data.slice(0, k * cols), k, cols)
  list.push(
    { name: 'nearest', run: (device) => nearest(floats, centers, { device }) },
    { name: 'nearest 10', run: (device) => nearest(floats, centers, { m: 10, device }) },
    { name: 'nearest, bytes', run: (device) => nearest(bytes, centers, { device }) },
    { name: 'partition trees', run: (device) => partitionTrees(floats, { device }) },
  )
  for (const type of ['pq', 'ck'] as const) {
    list.push({ name: `quantizer ${type}`, run: (device) => quantize(type, floats, device) })
  }
  list.push({ name: 'inverted file', run: (device) => searchLists(floats, device) })
  return list
}

async function quantize(type: 'pq' | 'ck', vectors: Matrix, device: Device): Promise<void> {
  const codewords = Math.min(256, vectors.rows >> 3)
  const quantizer = await trainQuantizer(vectors, { type, m: 8, codewords, iterations: ROUNDS, device })
  const index = new CodeIndex(quantizer)
  await index.add(vectors, { device })
  const queries = matrix(vectors.data.slice(0, 64 * vectors.cols), 64, vectors.cols)
  await index.search(queries, { nearest: 10, device })
}

async function searchLists(vectors: Matrix, device: Device): Promise<void> {
  const model = await cluster(vectors, { k: 16, method: 'lloyd', iterations: ROUNDS, device })
  const codewords = Math.min(256, vectors.rows >> 3)
  const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 8, codewords, iterations: ROUNDS, device })
  await file.add(vectors, { device })
  const queries = matrix(vectors.data.slice(0, 64 * vectors.cols), 64, vectors.cols)
  await file.search(queries, { nearest: 10, probe: 4, device })
}

function toBytes({ data, rows, cols }: Matrix): Matrix {
  let lowest = Number.POSITIVE_INFINITY
  let highest = Number.NEGATIVE_INFINITY
  for (const value of data) {
    lowest = Math.min(lowest, value)
    highest = Math.max(highest, value)
  }
  const scale = 255 / (highest - lowest || 1)
  return matrix(
    Uint8Array.from(data, (value) => Math.round((value - lowest) * scale)),
    rows,
    cols,
  )
}

/** About one entry in fifty. */
function randomSparse(rows: number, cols: number): SparseMatrix {
  const random = createRandom(5)
  const values: number[] = []
  const columns: number[] = []
  const offsets = [0]
  const step = 50
  for (let row = 0; row < rows; row++) {
    for (let col = random.below(step); col < cols; col += 1 + random.below(2 * step)) {
      columns.push(col)
      values.push(1 + random.below(8))
    }
    offsets.push(columns.length)
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols)
}
