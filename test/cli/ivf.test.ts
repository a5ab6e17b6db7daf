/** Inverted files on the command line, and over HTTP. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeServer, createSearchServer } from '../../src/cli/search-server.ts'
import {
  CodeIndex,
  type Device,
  InvertedFile,
  type Matrix,
  nearest,
  openDevice,
  readIntegers,
  readVectors,
  trainQuantizer,
  writeLabels,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { ending, jsonLines, result, startCli } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
let base = ''
let vectors: Matrix

beforeAll(async () => {
  base = path('base.ivf')
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  vectors = await readVectors(path('vectors.npy'))
  const flags = ['--lists', '20', '-m', '4', '--keep-vectors', '--device', 'cpu']
  result(await runInside('ivf', 'build', path('vectors.npy'), ...flags, '--out', base, '--json'))
})

async function found(...flags: string[]): Promise<number[]> {
  result(await runInside('ivf', 'search', base, path('vectors.npy'), ...flags, '--out', path('found.npy'), '--json'))
  return Array.from((await readIntegers(path('found.npy'))).data, Number)
}

describe('ivf', () => {
  test('tells how lists and codes were made', async () => {
    const build = ['ivf', 'build', path('vectors.npy'), '--sample', '300', '--out', path('told.ivf')]
    expect(result(await runInside(...build, '--json'))).toMatchObject({
      ...{ type: 'result', vectors: 600, lists: 98, metric: 'euclidean', quantizer: 'pq', m: 2, codewords: 16 },
      ...{ codeBytes: 1, learnedFrom: 300 },
    })
    const { stdout } = await runInside(...build)
    expect(stdout).toMatch(/^600 vectors in 98 lists, 1 byte each, in /)
    expect(stdout).toMatch(/lists {3}clustered by \w+, \d+ rounds?\n/)
    expect(stdout).toMatch(/codes {3}pq, 2 codes of 16 codewords, learned from 300 vectors \(--sample\)/)
    expect((await InvertedFile.load(path('told.ivf'))).keep).toBeUndefined()
  })

  test.each(['cosine', 'inner-product'])('looking into all lists and re-ranking all is exact by %s', async (metric) => {
    const out = path(`${metric}.ivf`)
    result(
      await runInside('ivf', 'build', path('vectors.npy'), '--metric', metric, '--lists', '9', '--out', out, '--json'),
    )
    const exact = ['--probe', '9', '--rerank', path('vectors.npy'), '--candidates', '600', '-n', '5']
    const to = ['--out', path('by.npy'), '--json']
    expect(result(await runInside('ivf', 'search', out, path('vectors.npy'), ...exact, ...to))).toMatchObject({
      ...{ queries: 600, vectors: 600, nearest: 5, probe: 9, out: path('by.npy') },
    })
    const truth = await nearest(vectors, vectors, { m: 5, metric: metric as 'cosine', device: 'cpu' })
    expect(Array.from((await readIntegers(path('by.npy'))).data, Number)).toEqual(Array.from(truth.labels))
  })

  test('adds, removes and filters by number', async () => {
    const all = ['--probe', '20', '-n', '1', '--rerank', 'kept']
    expect(await found(...all)).toEqual(Array.from({ length: 600 }, (_, i) => i))
    expect(result(await runInside('ivf', 'remove', base, '--ids', '3,17,9999', '--json'))).toMatchObject({
      ...{ removed: 2, vectors: 598 },
    })
    expect((await found(...all))[17]).not.toBe(17)
    await writeLabels(path('ids.npy'), Uint32Array.of(...Array.from({ length: 600 }, (_, i) => 1000 + i)))
    const add = ['ivf', 'add', base, path('vectors.npy')]
    const words = await runInside(...add, '--ids', path('ids.npy'))
    expect(words.stdout).toMatch(/^Added 600 vectors in .*; the inverted file now has 1,198 vectors\.\n/)
    expect((await found(...all))[17]).toBe(1017)
    await writeLabels(path('where.npy'), Uint32Array.of(1000, 1005))
    expect(new Set(await found(...all, '--where', path('where.npy')))).toEqual(new Set([1000, 1005]))
    const near = await found(...all, '--where', '1005', '--within', '0.5')
    expect(near[5]).toBe(1005)
    expect(near[1]).toBe(-1)
    expect(result(await runInside('ivf', 'remove', base, '--ids', path('ids.npy'), '--json'))).toMatchObject({
      ...{ removed: 600, vectors: 598 },
    })
    const taken = await runInside(...add, '--ids', path('classes.npy'))
    expect(taken).toMatchObject({ code: 2, stdout: '' })
    expect(taken.stderr).toMatch(/Id \d+ is already in use/)
  })

  test('what does not fit is refused', async () => {
    const search = ['ivf', 'search', base, path('vectors.npy'), '--out', path('none.npy')]
    const wrong = await runInside(...search, '--where', '3;4')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/Option --where is "3;4": give comma-separated ids/)
    expect((await runInside(...search, '--probe', '21')).stderr).toMatch(/Option probe is 21: give at most 20/)
    const plain = await runInside('ivf', 'search', path('told.ivf'), path('vectors.npy'), '--rerank', 'kept', '--out', path('none.npy')) // biome-ignore format: a command
    expect(plain.stderr).toMatch(/does not store vectors: build it with --keep-vectors/)
  })
})

describe('over HTTP', () => {
  let device: Device
  let index: InvertedFile
  let server: Server
  const LIMIT = 20_000
  const queryOf = (row: number): number[] => Array.from(vectors.data.subarray(row * 8, row * 8 + 8))

  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
    index = await InvertedFile.load(base)
    server = createSearchServer({ index, device, rerank: true }, { requestBytes: LIMIT, hosts: ['localhost'] })
    server.listen(0, 'localhost')
    await once(server, 'listening')
  })
  afterAll(async () => {
    await closeServer(server)
    await index.close()
    await device.close()
  })

  interface Reply {
    readonly status: number | undefined
    readonly body: { readonly error?: string; readonly results?: { ids: number[]; distances: number[] }[] }
  }

  function ask(
    options: { method?: string; path?: string; headers?: Record<string, string> },
    body: string | object = '',
    to = server,
  ): Promise<Reply> {
    const { port } = to.address() as AddressInfo
    const { method = 'POST', path: where = '/search', headers = { 'content-type': 'application/json' } } = options
    return new Promise((resolve, reject) => {
      const sent = request({ host: 'localhost', port, method, path: where, headers }, async (response) => {
        let text = ''
        for await (const piece of response.setEncoding('utf8')) text += piece
        resolve({ status: response.statusCode, body: JSON.parse(text) })
      })
      sent.on('error', reject)
      sent.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  }

  test('answers what the library answers, many at the same time', async () => {
    const options = { nearest: 3, probe: 20 }
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) => ask({}, { queries: [queryOf(i), queryOf(i + 1)], ...options })),
    )
    const { labels, distances } = await index.search(vectors, { ...options, rerank: true, device })
    replies.forEach(({ status, body }, i) => {
      expect(status).toBe(200)
      body.results?.forEach((list, j) => {
        expect(list.ids).toEqual([...labels.subarray(3 * (i + j), 3 * (i + j) + 3)])
        expect(list.distances).toEqual([...distances.subarray(3 * (i + j), 3 * (i + j) + 3)])
      })
      expect(body.results?.length).toBe(2)
    })
    const some = await ask({}, { queries: [queryOf(5)], where: [5, 6], probe: 20, within: 0.1 })
    expect(some.body.results?.[0].ids).toEqual([5])
    expect((await ask({ method: 'GET', path: '/' })).body).toEqual({
      ...{ index: 'inverted file', vectors: 598, columns: 8, metric: 'euclidean', lists: 20, codeBytes: 2 },
      ...{ rerank: true, device: 'cpu' },
    })
  })

  test('an index of codes, without re-ranking', async () => {
    const codes = new CodeIndex(await trainQuantizer(vectors, { type: 'pq', m: 4, codewords: 16, device }))
    await codes.add(vectors, { device })
    const limits = { requestBytes: LIMIT, hosts: undefined }
    const other = createSearchServer({ index: codes, device, rerank: undefined }, limits)
    other.listen(0)
    await once(other, 'listening')
    const { body } = await ask({}, { queries: [queryOf(9)], nearest: 4 }, other)
    const { labels } = await codes.search([queryOf(9)], { nearest: 4, device })
    expect(body.results?.[0].ids).toEqual([...labels])
    await closeServer(other)
    await codes.close()
  })

  const JSON_TYPE = 'application/json'
  const good = (): object => ({ queries: [queryOf(0)] })
  test.each<[string, Parameters<typeof ask>[0], () => string | object, number, RegExp]>([
    ['another path', { path: '/etc/passwd' }, good, 404, /^There is no \/etc\/passwd/],
    ['another method', { method: 'PUT' }, good, 405, /does not support PUT: use POST/],
    ['what a page of another site may send', { headers: { 'content-type': 'text/plain' } }, good, 415, /Send JSON/],
    ['another name of this host', { headers: { 'content-type': JSON_TYPE, host: 'evil.example' } }, good, 403, /can be reached as localhost only/], // biome-ignore format: a row
    ['too much', {}, () => ' '.repeat(LIMIT + 1), 413, /larger than 20000 bytes/],
    ['too much in pieces', { headers: { 'content-type': JSON_TYPE, 'transfer-encoding': 'chunked' } }, () => ' '.repeat(LIMIT + 1), 413, /larger than 20000 bytes/], // biome-ignore format: a row
    ['no JSON', {}, () => '{"queries": [[', 400, /is not valid JSON/],
    ['no object', {}, () => '[1]', 400, /Send an object with queries/],
    ['no queries', {}, () => ({ nearest: 1 }), 400, /queries is missing/],
    ['no numbers', {}, () => ({ queries: [['a']] }), 400, /give/],
    ['another width', {}, () => ({ queries: [[1, 2]] }), 400, /has 2 columns and the file 8/],
    ['an unknown option', {}, () => ({ ...good(), device: 'cpu' }), 400, /Unknown option device/],
    ['a bad value', {}, () => ({ ...good(), probe: 'all' }), 400, /Option probe is "all"/],
    ['too many results', {}, () => ({ ...good(), nearest: 100_001 }), 400, /ask for fewer/],
  ])('refuses %s', async (_, options, body, status, message) => {
    const reply = await ask(options, body())
    expect(reply.status).toBe(status)
    expect(reply.body.error).toMatch(message)
    // And goes on.
    expect((await ask({}, good())).status).toBe(200)
  })

  test('the command answers until Ctrl-C, and ends well', async () => {
    const child = startCli('serve', base, '--port', '0', '--json')
    const ended = ending(child)
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [string]
    const { url, vectors: size } = JSON.parse(line) as { url: string; vectors: number }
    expect(size).toBe(598)
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/search`, { method: 'POST', headers, body: JSON.stringify(good()) })
    expect(reply.status).toBe(200)
    child.kill('SIGINT')
    const end = await ended
    expect(end).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(end)).toHaveLength(1)
    await expect(fetch(url)).rejects.toThrow()
  })

  test('a port that is taken', async () => {
    const { port } = server.address() as AddressInfo
    const ended = await runInside('serve', base, '--port', String(port))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/another program uses this port; choose another one/)
  })
})
