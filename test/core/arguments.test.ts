/** What errors about arguments say, and mistakes that used to pass. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { show } from '../../src/core/errors.ts'
import {
  blobs,
  type ClusterOptions,
  CodeIndex,
  cluster,
  clusterSteps,
  createRandom,
  type Device,
  ImageIndex,
  InvertedFile,
  labelBytes,
  nearest,
  openDevice,
  partitionTrees,
  type QuantizerOptions,
  rerank,
  trainQuantizer,
  type VectorInput,
  vectorBytes,
  writeLabels,
  writeNeighbors,
} from '../../src/index.ts'

const { vectors } = blobs({ rows: 24, cols: 4, clusters: 3 })
let device: Device

beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', shared: false })
})
afterAll(() => device.close())

describe('numbers in rows', () => {
  const wrong: [unknown, RegExp][] = [
    [[[1, 2], [3, null]], /Row 1 of the input holds null in column 1: give a number, or remove the row\./],
    [[[1, 2], ['', 4]], /Row 1 of the input holds "" in column 0/],
    [[[1, '2'], [3, 4]], /Row 0 of the input holds "2" in column 1/],
    [[[1, 2], new Array(2)], /Row 1 of the input holds undefined in column 0/],
    [[[1, 2], [3, 4n]], /Row 1 of the input holds 4n in column 1/],
    [Object.assign([[1, 2]], { length: 2 }), /Row 1 of the input is undefined: give an array of numbers/],
    [[[1, 2], 'ab'], /Row 1 of the input is "ab"/],
  ] // biome-ignore format: a row each
  test.each(wrong)('case %#', async (input, message) => {
    await expect(cluster(input as VectorInput, { k: 1, device })).rejects.toThrow(message)
  })

  test('rows of typed arrays are taken', async () => {
    const model = await cluster([Float32Array.of(1, 2), Float32Array.of(3, 5)], { k: 1, device })
    expect([...model.centers.data]).toEqual([2, 3.5])
  })
})

describe('sources', () => {
  const source = (change: object): VectorInput =>
    ({ rows: 4, cols: 2, type: 'f32', name: 'mine', read: async () => new Float32Array(8), ...change }) as VectorInput

  test('without columns', async () => {
    await expect(cluster(source({ cols: 0 }), { k: 1, device })).rejects.toThrow(/Invalid source .* shape: 4 x 0/)
  })

  test('that read something else', async () => {
    const read = async () => new Float32Array(3)
    await expect(cluster(source({ read }), { k: 1, device })).rejects.toThrow(
      /Reading rows 0 to 4 of mine gave .*Float32Array of 3/,
    )
  })
})

describe('options', () => {
  const unknown: [string, (options: object) => Promise<unknown>][] = [
    ['cluster', (options) => cluster(vectors, { k: 2, ...options })],
    ['predict', async (options) => (await cluster(vectors, { k: 2, device })).predict(vectors, options)],
    ['nearest', (options) => nearest(vectors, vectors, options)],
    ['partitionTrees', (options) => partitionTrees(vectors, options)],
    ['openDevice', (options) => openDevice(options)],
    ['blobs', async (options) => blobs({ rows: 3, cols: 3, clusters: 3, ...options })],
    ['trainQuantizer', (options) => trainQuantizer(vectors, { type: 'pq', ...options } as QuantizerOptions)],
    ['vectorBytes', (options) => vectorBytes('a.npy', vectors, options)],
  ]
  test.each(unknown)('unknown ones are refused by %s', async (_name, call) => {
    await expect(call({ nonsense: 3 })).rejects.toThrow(/Option nonsense is 3: there is no such option; \w+ takes /)
  })

  test.each([
    [{ iteratons: 3 }, /Option iteratons is 3: there is no such option; did you mean iterations\?/],
    [{ Method: 'lloyd' }, /did you mean method\?/],
    [{ k: '3' }, /Option k is "3"/],
    [{ k: null }, /Option k is null/],
    [{ method: 'constructor' }, /Option method is "constructor": give one of auto, lloyd/],
    [{ method: '__proto__' }, /Option method is "__proto__"/],
    [{ weights: 'abc' }, /Option weights is "abc": give an array of numbers/],
    [{ weights: [1, null] }, /Entry 1 of option weights is null/],
    [{ signal: {} }, /Option signal is an object: give the signal of an AbortController/],
    [{ onProgress: 'x' }, /Option onProgress is "x": give a function/],
    [{ resume: {} }, /Option resume is an object: give a model/],
    [{ device: 3 }, /Option device is 3/],
    [{ device: { thread: 3 } }, /Option thread is 3: there is no such option; did you mean threads\?/],
    [{ checkpoint: { every: 0, save() {} } }, /Option checkpoint.every is 0: give a whole number, 1 or more/],
    [{ checkpoint: { every: 1 } }, /Option checkpoint.save is undefined: give a function/],
    [{ checkpoint: { evry: 1, save() {} } }, /Option checkpoint.every is undefined/],
    [{ device: { limits: { workgroup: 1 } } }, /Option limits.workgroup is 1: .* did you mean workgroups\?/],
  ])('%j', async (options, message) => {
    await expect(cluster(vectors, { k: 2, device, ...options } as unknown as ClusterOptions)).rejects.toThrow(message)
  })

  test.each([null, 3, 'abc', [], new Map()])('instead of an object: %j', async (options) => {
    await expect(cluster(vectors, options as unknown as ClusterOptions)).rejects.toThrow(
      /The options of cluster are .*: give an object of options\./,
    )
  })

  test('undefined is the default', async () => {
    const options = { k: 2, device, method: undefined, weights: undefined, seed: undefined }
    const model = await cluster(vectors, options as unknown as ClusterOptions)
    expect(model.facts).toMatchObject({ method: 'lloyd', seed: 0 })
  })

  test('are read once', async () => {
    let reads = 0
    const options = {
      device,
      get k() {
        return ++reads === 1 ? 2 : 1e9
      },
    }
    await cluster(vectors, options)
    expect(reads).toBe(1)
  })

  test('a checkpoint is saved by the method it is', async () => {
    const checkpoint = {
      every: 1,
      saved: 0,
      save() {
        this.saved++
      },
    }
    const { facts } = await cluster(vectors, { k: 2, device, checkpoint })
    expect(checkpoint.saved).toBe(facts.iterations.length)
  })

  test('steps refuse at the first step', async () => {
    const steps = clusterSteps(vectors, { k: 0 })
    await expect(steps.next()).rejects.toThrow(/Option k is 0/)
  })
})

describe('files', () => {
  const floats = Float32Array.of(0, 1, 2) as unknown as Uint32Array
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'arguments-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('labels are whole numbers, not floats', async () => {
    const message = 'The list of labels is a Float32Array of 3: give a Uint32Array, such as Uint32Array.from(list).'
    await expect(labelBytes('labels.npy', floats)).rejects.toThrow(message)
    await expect(writeLabels(join(folder, 'labels.npy'), floats)).rejects.toThrow(message)
  })

  test('neighbours fill their lists', async () => {
    const path = join(folder, 'neighbours.npy')
    await expect(writeNeighbors(path, new Uint32Array(5), 2)).rejects.toThrow(/5 neighbours/)
    await expect(writeNeighbors(path, new Uint32Array(4), 0)).rejects.toThrow(/is 0: give a whole number, 1 or more/)
    await expect(writeNeighbors(path, floats, 1)).rejects.toThrow(/a Float32Array of 3/)
  })
})

describe('sizes', () => {
  test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('random numbers below %j', (bound) => {
    expect(() => createRandom(1).below(bound)).toThrow(/The bound is .*: give a whole number/)
  })

  test('blobs without end', () => {
    expect(() => blobs({ rows: 1e12, cols: 2, clusters: 2 })).toThrow(/Option rows is 1000000000000/)
    expect(() => blobs({ rows: 1e6, cols: 1e6, clusters: 2 })).toThrow(/1000000 x 1000000 numbers are too many/)
  })

  test('alignment of nothing', async () => {
    const limits = { bindingAlignment: 0 }
    await expect(openDevice({ kind: 'cpu', limits })).rejects.toThrow(/Option limits.bindingAlignment is 0/)
  })

  test('more results than codes', async () => {
    const quantizer = await trainQuantizer(vectors, { type: 'ok', m: 2, device })
    const index = new CodeIndex(quantizer)
    await index.add(vectors, { device })
    const all = await index.search(vectors, { nearest: 24, device })
    const more = await index.search(vectors, { nearest: 100_000, device })
    expect(more.m).toBe(100_000)
    expect([...more.labels.subarray(100_000, 100_024)]).toEqual([...all.labels.subarray(24, 48)])
    expect([...more.distances.subarray(100_000, 100_024)]).toEqual([...all.distances.subarray(24, 48)])
    expect(more.labels[100_024]).toBe(0xffffffff)
    expect(more.distances[100_024]).toBe(Number.POSITIVE_INFINITY)
    const many = { rows: 1e6, cols: 4, type: 'u8', name: 'many', read: async () => new Uint8Array(4) } as const
    await expect(index.search(many, { nearest: 1e6, device })).rejects.toThrow(/Option nearest is 1000000: .* too many/)
  })

  test('more results than are filed', async () => {
    const model = await cluster(vectors, { k: 2, device })
    const file = await InvertedFile.train(vectors, model, { type: 'ok', m: 2, device })
    await file.add(vectors, { device })
    const all = await file.search(vectors, { nearest: 24, probe: 2, device })
    const more = await file.search(vectors, { nearest: 100_000, probe: 2, device })
    expect([...more.labels.subarray(0, 24)]).toEqual([...all.labels.subarray(0, 24)])
    expect(more.labels[24]).toBe(0xffffffff)
  })
})

test('candidates of another number of queries', async () => {
  const candidates = { m: 2, labels: new Uint32Array(6), distances: new Float32Array(6) }
  await expect(rerank(candidates, vectors, vectors)).rejects.toThrow('There are 6 candidates for 24 queries: give 2')
})

test('bags of words that a vocabulary does not have', async () => {
  const model = await cluster(vectors, { k: 2, device })
  const bag = { words: Uint32Array.of(5), counts: [1] }
  expect(() => new ImageIndex(model, [[0, bag]])).toThrow(/The bag of image 0 is invalid/)
})

test('values in messages', () => {
  expect(show('x'.repeat(1000))).toBe(`"${'x'.repeat(80)}"... (1000 characters)`)
  expect(show(10n)).toBe('10n')
  expect(show(10n ** 500n)).toBe('a bigint of 501 digits')
  expect(show(Symbol('s'))).toBe('Symbol(s)')
  expect(show(() => {})).toBe('a function')
  expect(show(new Float32Array(3))).toBe('a Float32Array of 3')
  expect(show({ constructor: { name: Symbol('s') } })).toBe('an object')
  expect(show(Object.create(null))).toBe('an object')
})
