/**
 * Adding, removing and searching in turn, checked by an oracle.
 *
 *   npm run bench -- updates [--changes 1000000] [--data vectors.bvecs] [--threads 1] [--seed 1]
 *
 * Vectors come and go in an inverted file and in an index of codes until there have been so many changes; every
 * thousand changes a search looks into all lists. What it should find is known without the index: the codes that vectors have do
 * not depend on what else is there, so that a fresh index of all vectors, built once, tells the order of any subset. The table
 * says how long changes and searches took and how far the memory of the process grew.
 */
import { parseArgs } from 'node:util'
import {
  blobs,
  CodeIndex,
  cluster,
  createRandom,
  InvertedFile,
  type Matrix,
  matrix,
  openDevice,
  readVectors,
  trainQuantizer,
} from '../src/index.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    changes: { type: 'string', default: '1000000' },
    data: { type: 'string' },
    threads: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
})

/** Vectors that come and go. */
const POOL = 50_000
const LISTS = 256
/** Changes between two searches. */
const EVERY = 1000
const QUERIES = 20
const NEAREST = 10

type Index = InvertedFile | CodeIndex

const changes = Number(flags.changes)
const device = await openDevice({ kind: 'cpu', threads: Number(flags.threads) })
const given = flags.data
  ? await readVectors(flags.data)
  : blobs({ rows: POOL, cols: 32, clusters: 200, seed: 3 }).vectors
const pool: Matrix = rowsOf(given, 0, Math.min(POOL, given.rows))
const queries = rowsOf(pool, 0, QUERIES)
const shape = { type: 'pq', m: pool.cols / 4, codewords: 16, iterations: 5, device } as const
const model = await cluster(pool, { k: LISTS, iterations: 3, device })
const file = await InvertedFile.train(pool, model, shape)
const quantizer = await trainQuantizer(pool, shape)
const rows: Record<string, Cell>[] = [
  await churn('InvertedFile', () => new InvertedFile(file.model, file.quantizer), { probe: LISTS }),
  await churn('CodeIndex', () => new CodeIndex(quantizer), {}),
]
await device.close()
printTable(`${changes.toLocaleString('en')} changes of ${pool.rows.toLocaleString('en')} vectors of ${pool.cols}`, rows)
keepResults('updates', { changes, rows: pool.rows, cols: pool.cols, lists: LISTS, threads: Number(flags.threads), table: rows }) // biome-ignore format: facts

function rowsOf({ data, cols }: Matrix, first: number, end: number): Matrix {
  return matrix(data.slice(first * cols, end * cols), end - first, cols)
}

async function churn(name: string, make: () => Index, options: object): Promise<Record<string, Cell>> {
  const oracle = await orderOfAll(make(), options)
  const index = make()
  const random = createRandom(Number(flags.seed))
  /** The row of each vector that is in the index. */
  const rowOf = new Map<number, number>()
  const alive: number[] = []
  let nextId = 0
  const seconds = { adding: 0, removing: 0, searching: 0 }
  const counts = { added: 0, removed: 0, searches: 0 }
  const timed = async (what: keyof typeof seconds, work: () => unknown): Promise<void> => {
    const began = performance.now()
    await work()
    seconds[what] += (performance.now() - began) / 1000
  }
  const before = process.memoryUsage.rss()
  let highest = before
  for (let done = 0, lastSearch = 0; done < changes; ) {
    const count = Math.min(changes - done, 1 + random.below(400))
    if (alive.length < 1000 || (alive.length < 0.9 * pool.rows && random.below(2) === 0)) {
      const picked = Array.from({ length: count }, () => random.below(pool.rows))
      const ids = Uint32Array.from(picked, () => nextId++)
      const data = pool.data.slice(0, count * pool.cols)
      picked.forEach((row, i) => {
        data.set(pool.data.subarray(row * pool.cols, (row + 1) * pool.cols), i * pool.cols)
        rowOf.set(ids[i], row)
        alive.push(ids[i])
      })
      await timed('adding', () => index.add(matrix(data, count, pool.cols), { ids, device }))
      counts.added += count
      done += count
    } else {
      const gone = Array.from({ length: Math.min(count, alive.length) }, () => {
        const at = random.below(alive.length)
        const id = alive[at]
        alive[at] = alive[alive.length - 1]
        alive.pop()
        rowOf.delete(id)
        return id
      })
      await timed('removing', () => index.remove(gone))
      counts.removed += gone.length
      done += gone.length
    }
    if (done - lastSearch < EVERY) continue
    lastSearch = done
    let found: Uint32Array = new Uint32Array(0)
    await timed('searching', async () => {
      found = (await index.search(queries, { nearest: NEAREST, ...options, device })).labels
    })
    counts.searches++
    check(found, oracle, rowOf)
    if (index.size !== alive.length) throw new Error(`${name} holds ${index.size} vectors, not ${alive.length}.`)
    highest = Math.max(highest, process.memoryUsage.rss())
  }
  await index.close()
  return {
    index: name,
    added: counts.added,
    removed: counts.removed,
    searches: counts.searches,
    'us to add one': (1e6 * seconds.adding) / counts.added,
    'us to remove one': (1e6 * seconds.removing) / counts.removed,
    [`ms to search for ${QUERIES}`]: (1000 * seconds.searching) / counts.searches,
    'memory grew by, MB': (highest - before) / 1e6,
  }
}

/** Of each query all rows, with their distances, as an index finds them that holds nothing else. */
async function orderOfAll(index: Index, options: object): Promise<Float32Array[]> {
  await index.add(pool, { device })
  const { labels, distances } = await index.search(queries, { nearest: pool.rows, ...options, device })
  await index.close()
  return Array.from({ length: QUERIES }, (_, query) => {
    const out = new Float32Array(pool.rows)
    for (let i = query * pool.rows; i < (query + 1) * pool.rows; i++) out[labels[i]] = distances[i]
    return out
  })
}

/** The distances of what was found are the smallest of what is there, and each vector found is there. */
function check(found: Uint32Array, oracle: readonly Float32Array[], rowOf: ReadonlyMap<number, number>): void {
  const there = Uint32Array.from(rowOf.values())
  oracle.forEach((distances, query) => {
    const nearest = smallest(distances, there, Math.min(NEAREST, there.length))
    const own = found.subarray(query * NEAREST, query * NEAREST + nearest.length)
    if (new Set(own).size !== nearest.length) throw new Error(`Query ${query} found ${own.join()}.`)
    own.forEach((id, i) => {
      const row = rowOf.get(id)
      if (row === undefined || distances[row] !== nearest[i]) {
        throw new Error(`Query ${query} found ${id} in place ${i}; the distance there should be ${nearest[i]}.`)
      }
    })
  })
}

/** The smallest distances of these rows, rising. */
function smallest(distances: Float32Array, rows: Uint32Array, count: number): number[] {
  const kept: number[] = []
  for (const row of rows) {
    const distance = distances[row]
    if (kept.length === count && distance >= kept[count - 1]) continue
    let at = kept.length
    while (at > 0 && kept[at - 1] > distance) at--
    kept.splice(at, 0, distance)
    if (kept.length > count) kept.pop()
  }
  return kept
}
