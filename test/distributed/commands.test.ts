/** The commands with --on, over workers in this process: results, output next to the shards, JSON, progress and reports. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestStore } from '../../bench/distributed/postgres-server.ts'
import { hasRedis, startRedis } from '../../bench/distributed/redis-server.ts'
import {
  cluster,
  type Device,
  loadModel,
  loadQuantizer,
  openDevice,
  openShards,
  readVectors,
  type ShardedVectors,
  trainQuantizer,
  work,
} from '../../src/index.ts'
import { ending, jsonLines, result, startCli } from '../cli/run-cli.ts'
import { runInside } from '../cli/run-inside.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'
import { type TestData, writeData } from './processes.ts'

const CPU = ['--device', 'cpu', '--threads', '1']
const CLUSTER = ['-k', '12', '--method', 'closures', '--seed', '3', '--tolerance', '0', '--no-relocate', ...CPU]
const OPTIONS = { k: 12, method: 'closures', seed: 3, tolerance: 0, relocate: false, iterations: 8 } as const

let store: TestStore
let data: TestData
let source: ShardedVectors
let device: Device
let out: string
const leaving = new AbortController()
const working: Promise<void>[] = []

beforeAll(async () => {
  store = await (hasRedis() ? startRedis() : startPostgres())
  data = await writeData(300, 8)
  source = await openShards(data.manifest)
  device = await openDevice({ kind: 'cpu', threads: 1 })
  out = mkdtempSync(join(tmpdir(), 'centroidal-commands-'))
  for (const name of ['first', 'second']) {
    const own = { data: [data.folder], device: { kind: 'cpu', threads: 1 }, name, lock: 2 } as const
    working.push(work(store.url, { ...own, signal: leaving.signal }))
  }
})
afterAll(async () => {
  leaving.abort()
  await Promise.all(working)
  await source.close?.()
  await device.close()
  await store.stop()
  data.remove()
  rmSync(out, { recursive: true, force: true })
})

/** Blocks this process. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** 32-bit numbers behind the header of a NumPy file. */
function savedLabels(file: string): Uint32Array {
  const bytes = readFileSync(file)
  const first = 10 + bytes.readUInt16LE(8)
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset + first, bytes.byteOffset + bytes.length))
}

describe('cluster --on', { timeout: 60_000 }, () => {
  test('--json tells who works on what and what was sent; the report shows the workers', async () => {
    const folder = join(out, 'run')
    const flags = [...CLUSTER, '--iterations', '8', '--json', '--on', store.url, '--lock', '2', '--out', folder]
    const ended = await runInside('cluster', data.manifest, ...flags)
    const { machines, ...told } = result(ended) as { machines: Record<string, unknown>; iterations: number }
    expect(bitsOf(await loadModel(folder))).toEqual(bitsOf(await cluster(source, { ...OPTIONS, device })))
    expect(told.iterations).toBe(8)
    const workers = machines.workers as { name: string; groups: number[] }[]
    expect(workers.map(({ name }) => name)).toEqual(['first', 'second'])
    expect(workers.flatMap(({ groups }) => groups).sort((a, b) => a - b)).toEqual([...Array(12).keys()])
    expect(machines.rounds).toHaveLength(8)
    const lines = jsonLines(ended)
    expect(lines.filter(({ type }) => type === 'iteration')).toHaveLength(8)
    expect(lines.some(({ type, kind }) => type === 'machines' && kind === 'workers')).toBe(true)
    const page = readFileSync(join(folder, 'report.html'), 'utf8')
    for (const words of ['<h2>Machines</h2>', 'first', 'second', '2 workers on the store'])
      expect(page).toContain(words)
    // It can be made again from the folder.
    expect((await runInside('report', folder)).code).toBe(0)
    expect(readFileSync(join(folder, 'report.html'), 'utf8')).toContain('<h2>Machines</h2>')
  })

  test('Ctrl-C saves what was reached, with exit code 130, and --resume completes it', async () => {
    const folder = join(out, 'stopped')
    const flags = [...CLUSTER, '--json', '--on', store.url, '--lock', '2']
    const more = ['--iterations', '1000', '--method', 'lloyd', '--out', folder]
    const child = startCli('cluster', data.manifest, ...flags, ...more)
    let interrupted = false
    child.stdout?.on('data', (text: Buffer) => {
      if (interrupted || !text.toString().includes('"iteration":2')) return
      interrupted = true
      // The workers are in this process: while it sleeps nobody answers, and the command waits in the midst of a round.
      sleep(300)
      child.kill('SIGINT')
      sleep(300)
    })
    const stopped = await ending(child)
    expect([stopped.code, interrupted]).toEqual([130, true])
    expect(stopped.stderr + stopped.stdout).toContain(`--resume ${folder} --on ${store.url}`)
    const { facts } = await loadModel(folder)
    expect(facts.stopped).toBe('aborted')
    // What was reached, and no round that was not finished.
    const told = jsonLines(stopped).filter(({ type }) => type === 'iteration')
    expect(facts.iterations.map(({ iteration }) => iteration)).toEqual(told.map(({ iteration }) => iteration))
    const { length: reached } = facts.iterations
    const alone = await cluster(source, { ...OPTIONS, method: 'lloyd', iterations: 100, device })
    expect(reached).toBeLessThan(alone.facts.iterations.length)
    const again = await runInside('cluster', data.manifest, ...flags, '--method', 'lloyd', '--resume', folder)
    expect(again.code, again.stderr).toBe(0)
    expect(bitsOf(await loadModel(folder))).toEqual(bitsOf(alone))
  })
})

describe('over shards', { timeout: 60_000 }, () => {
  test('assign writes labels next to each shard', async () => {
    const model = await cluster(source, { ...OPTIONS, device })
    const folder = join(out, 'model')
    await model.save(folder)
    const ended = await runInside('assign', folder, data.manifest, '--on', store.url, '--lock', '2', '--json', ...CPU)
    const { files, rows, distortion } = result(ended) as { files: string[]; rows: number; distortion: number }
    expect(rows).toBe(1200)
    const labels: number[] = []
    for (const file of files) labels.push(...savedLabels(file))
    const expected = await model.assign(source, { device })
    expect(labels).toEqual(Array.from(expected.labels))
    expect(distortion).toBeCloseTo(expected.distances.reduce((sum, each) => sum + each, 0) / 1200, 3)
    expect(files.every((file) => file.startsWith(data.folder))).toBe(true)
  })

  test.each([
    { type: 'pq', flags: ['-m', '4', '--codewords', '16'], options: { m: 4, codewords: 16 } },
    { type: 'ck', flags: ['-m', '2', '--codewords', '16'], options: { m: 2, codewords: 16 } },
    { type: 'ok', flags: ['-m', '6'], options: { m: 6 } },
    { type: 'itq', flags: ['-m', '6'], options: { m: 6 } },
  ] as const)('quantize trains $type on the workers: the bits of one process', async ({ type, flags, options }) => {
    const folder = join(out, type)
    const own = ['--type', type, ...flags, '--iterations', '4', '--sample', '900', '--out', folder, ...CPU, '--json']
    const ended = await runInside('quantize', data.manifest, ...own, '--on', store.url, '--lock', '2')
    const { machines } = result(ended) as { machines: { workers: unknown[]; rounds: unknown[] } }
    expect([machines.workers.length, machines.rounds.length]).toEqual([2, 4])
    const alone = await trainQuantizer(source, { type, ...options, iterations: 4, sample: 900, device })
    const trained = await loadQuantizer(folder)
    expect(trained.codec.books).toEqual(alone.codec.books)
    expect(trained.codec.rotation).toEqual(alone.codec.rotation)
    expect(readFileSync(join(folder, 'report.html'), 'utf8')).toContain('<h2>Machines</h2>')
  })

  test('encode writes codes next to each shard, and tells who works on what', async () => {
    const folder = join(out, 'quantizer')
    const quantizer = await trainQuantizer(source, { type: 'pq', m: 4, codewords: 16, iterations: 3, device })
    await quantizer.save(folder)
    const on = ['--on', store.url, '--lock', '2', '--suffix', 'short', ...CPU]
    const ended = await runInside('encode', folder, data.manifest, ...on)
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain('Wrote 12 files for 1,200 vectors')
    expect(ended.stderr).toMatch(/first: \d+ groups?, second: \d+ groups?/)
    const expected = await quantizer.encode(source, { device })
    const first = await readVectors(join(data.folder, 'part-0.0.short.npy'))
    expect(first.data).toEqual(expected.data.slice(0, first.data.length))
    expect(existsSync(join(data.folder, 'part-3.200.short.npy'))).toBe(true)
  })
})

describe('a store that is not there', () => {
  test.each(['redis://127.0.0.1:1', 'postgres://user:secret@127.0.0.1:1/x'])(
    '%s: said at once, then an error',
    async (url) => {
      for (const args of [
        ['worker', url],
        ['cluster', data.manifest, '-k', '3', '--on', url, '--out', join(out, 'none')],
      ]) {
        const began = performance.now()
        const ended = await runInside(...args, '--wait', '0.5', ...CPU)
        expect(ended.code).toBe(2)
        expect(ended.stderr).toMatch(
          /The store .*127\.0\.0\.1:1.* cannot be reached \(.*ECONNREFUSED.*\): check its address, and that it is running/,
        )
        expect(ended.stderr).toMatch(/Trying again for 1 seconds/)
        expect(ended.stderr).not.toContain('secret')
        expect(performance.now() - began).toBeLessThan(20_000)
      }
    },
  )
})
