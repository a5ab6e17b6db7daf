/** A process that answers for one engine of npm, or for this library. */
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cluster, InvertedFile, type Matrix, matrix, openDevice, readVectors } from '../../src/index.ts'
import { peerPackage } from '../peers.ts'
import type { Answer } from './engines.ts'

interface Message {
  readonly command: string
  readonly base: string
  readonly asked: string
  readonly path: string
  readonly lists: number
  readonly probe: number
  readonly candidates: number
  readonly nearest: number
  readonly single: boolean
  readonly most: number
}

/** What an engine does; searching gives ids. */
interface Worker {
  readonly version: string
  build(base: Matrix, message: Message): Promise<void>
  save(path: string): Promise<void>
  load(path: string, message: Message): Promise<void>
  /** What must be done before searches of another effort, and is not timed. */
  prepare?(message: Message): void
  one(query: Float32Array | Uint8Array, message: Message): Promise<ArrayLike<number | bigint>>
  many(queries: Matrix, message: Message): Promise<ArrayLike<number | bigint>>
}

export async function answerAsEngine(name: string, threads: number): Promise<void> {
  const worker = await workerOf(name, threads)
  let queries: Matrix = matrix(new Float32Array(0), 0, 1)
  /** Bytes of the process before there was an index. */
  let before = 0
  const commands: Record<string, (message: Message) => Promise<Answer>> = {
    async build(message) {
      queries = await readVectors(message.asked)
      const base = await readVectors(message.base)
      const taken = stopwatch()
      await worker.build(base, message)
      return { ...taken(), version: worker.version }
    },
    async save({ path }) {
      await worker.save(path)
      return { bytes: await bytesOf(path) }
    },
    async load(message) {
      before = process.memoryUsage.rss()
      queries = await readVectors(message.asked)
      await worker.load(message.path, message)
      return { bytes: await bytesOf(message.path), version: worker.version }
    },
    async search(message) {
      const { nearest, single, most } = message
      worker.prepare?.(message)
      if (!single) {
        const taken = stopwatch()
        const found = await worker.many(queries, message)
        const times = taken()
        const ids = Array.from({ length: queries.rows }, (_, i) =>
          Array.from({ length: nearest }, (_, j) => Number(found[i * nearest + j])),
        )
        return { ...times, ids }
      }
      const times: number[] = []
      for (let i = 0; i < Math.min(most, queries.rows); i++) {
        const query = queries.data.subarray(i * queries.cols, (i + 1) * queries.cols)
        const began = performance.now()
        await worker.one(query, message)
        times.push((performance.now() - began) / 1000)
      }
      return { times }
    },
    memory: async () => ({ bytes: process.memoryUsage.rss(), before }),
  }
  process.on('message', (message: Message) => {
    commands[message.command](message).then(
      (answer) => process.send?.(answer),
      (error) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
}

/** Seconds by the clock and of the processor since now. */
function stopwatch(): () => { readonly seconds: number; readonly cpu: number } {
  const began = performance.now()
  const busy = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(busy)
    return { seconds: (performance.now() - began) / 1000, cpu: (user + system) / 1e6 }
  }
}

async function bytesOf(path: string): Promise<number> {
  const facts = statSync(path)
  if (!facts.isDirectory()) return facts.size
  const names = await readdir(path, { recursive: true, withFileTypes: true })
  return names.reduce((sum, each) => sum + (each.isFile() ? statSync(join(each.parentPath, each.name)).size : 0), 0)
}

function workerOf(name: string, threads: number): Promise<Worker> {
  if (name === 'usearch') return usearch(threads)
  if (name === 'hnswlib-node') return hnswlib()
  return ours(threads, name === 'centroidal-8' ? { m: 16, codewords: 256 } : { m: 32, codewords: 16 })
}

async function ours(threads: number, shape: { readonly m: number; readonly codewords: number }): Promise<Worker> {
  const device = await openDevice({ kind: 'cpu', threads })
  let file: InvertedFile
  let base: Matrix
  const options = ({ probe, candidates, nearest }: Message) => ({
    ...{ device, probe, nearest, candidates: Math.max(nearest, candidates), rerank: base },
  })
  return {
    version: 'this commit',
    async build(vectors, { lists }) {
      base = vectors
      const model = await cluster(vectors, { k: lists, method: 'closures-sharp', iterations: 6, seed: 1, device })
      file = await InvertedFile.train(vectors, model, { type: 'pq', ...shape, seed: 1, device })
      await file.add(vectors, { device })
    },
    save: (path) => file.save(path),
    async load(path, message) {
      base = await readVectors(message.base)
      file = await InvertedFile.load(path)
    },
    one: async (query, message) => (await file.search(matrix(query, 1, query.length), options(message))).labels,
    many: async (queries, message) => (await file.search(queries, options(message))).labels,
  }
}

interface UsearchPackage {
  readonly default: {
    Index: new (
      options: object,
    ) => {
      add(keys: BigUint64Array, vectors: Float32Array, threads: number): void
      search(vectors: Float32Array, k: number, threads: number): { keys: BigUint64Array }
      save(path: string): void
      load(path: string): void
    }
  }
}

/** usearch has no way to widen a search after building, but to load it with another width. */
async function usearch(threads: number): Promise<Worker> {
  const { default: library } = (await peerPackage<UsearchPackage>('usearch')) as UsearchPackage
  const made = (cols: number, width: number) =>
    new library.Index({
      dimensions: cols,
      metric: 'l2sq',
      connectivity: 16,
      expansion_add: 128,
      expansion_search: width,
      quantization: 'f32',
    })
  let cols = 0
  let kept = ''
  let index = made(1, 64)
  let width = 0
  return {
    version: 'usearch 2.25.1',
    async build(base) {
      cols = base.cols
      index = made(cols, 64)
      const keys = BigUint64Array.from({ length: base.rows }, (_, i) => BigInt(i))
      index.add(keys, Float32Array.from(base.data), threads)
    },
    async save(path) {
      kept = path
      index.save(path)
    },
    async load(path, message) {
      kept = path
      cols = (await readVectors(message.asked)).cols
    },
    prepare({ probe }) {
      if (probe === width) return
      index = made(cols, probe)
      index.load(kept)
      width = probe
    },
    one: async (query, { nearest }) => index.search(Float32Array.from(query), nearest, 1).keys,
    many: async ({ data }, { nearest }) => index.search(Float32Array.from(data), nearest, threads).keys,
  }
}

interface HnswlibPackage {
  readonly default: {
    HierarchicalNSW: new (
      space: string,
      cols: number,
    ) => {
      initIndex(most: number, m: number, width: number, seed: number): void
      addPoint(point: number[], label: number): void
      setEf(width: number): void
      searchKnn(point: number[], k: number): { neighbors: number[] }
      writeIndex(path: string): Promise<boolean>
      readIndex(path: string): Promise<boolean>
    }
  }
}

/** hnswlib-node works on the calling thread alone. */
async function hnswlib(): Promise<Worker> {
  const { default: library } = (await peerPackage<HnswlibPackage>('hnswlib-node')) as HnswlibPackage
  let index = new library.HierarchicalNSW('l2', 1)
  const search = (query: ArrayLike<number>, { probe, nearest }: Message): number[] => {
    index.setEf(probe)
    return index.searchKnn(Array.from(query), nearest).neighbors
  }
  return {
    version: 'hnswlib-node 3.0.0',
    async build(base) {
      index = new library.HierarchicalNSW('l2', base.cols)
      index.initIndex(base.rows, 16, 128, 1)
      for (let i = 0; i < base.rows; i++) {
        index.addPoint(Array.from(base.data.subarray(i * base.cols, (i + 1) * base.cols)), i)
      }
    },
    async save(path) {
      await index.writeIndex(path)
    },
    async load(path, message) {
      index = new library.HierarchicalNSW('l2', (await readVectors(message.asked)).cols)
      await index.readIndex(path)
    },
    one: async (query, message) => search(query, message),
    many: async ({ data, rows, cols }, message) =>
      Array.from({ length: rows }, (_, i) => search(data.subarray(i * cols, (i + 1) * cols), message)).flat(),
  }
}
