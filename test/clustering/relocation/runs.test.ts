/** Runs that relocate clusters: they leave bad starts, and keep every promise of a run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyClusterOptions,
  adjustedRandIndex,
  type Blobs,
  blobs,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  type Matrix,
  METHODS,
  type MethodName,
  matrix,
  openDevice,
  sparseMatrix,
} from '../../../src/index.ts'
import { ROUNDING } from '../clouds.ts'
import { bitsOf } from '../contract/subjects.ts'
import { CLUSTERING_DEVICES } from '../devices.ts'

const NAMES = (Object.keys(METHODS) as MethodName[]).filter((name) => METHODS[name].relocates)
const K = 8
/** Fewer trees than usual, for fewer rounds. */
const fewTrees = (method: MethodName): AnyClusterOptions =>
  method === 'closures' || method === 'closures-sharp' ? { trees: 3, leafSize: 16 } : {}

function separated(rows = 400, cols = 6, clusters = K, seed = 2): Blobs {
  return blobs({ rows, cols, clusters, separated: true, spread: 0.5, seed })
}

/** All centres on points of one blob. */
function badStart({ vectors, labels }: Blobs, k = K): Matrix {
  const { cols, data } = vectors
  const rows = Array.from(labels.keys())
    .filter((row) => labels[row] === 0)
    .slice(0, k)
  return matrix(Float32Array.from(rows.flatMap((row) => [...data.subarray(row * cols, (row + 1) * cols)])), k, cols)
}

const relocations = ({ facts }: ClusterModel): number =>
  facts.iterations.reduce((sum, { extra }) => sum + (extra?.relocated ?? 0), 0)

function neverRises({ facts }: ClusterModel): boolean {
  const falls = facts.iterations.slice(1).map(({ distortion }, i) => facts.iterations[i].distortion - distortion)
  return falls.every((fall, i) => fall >= -ROUNDING * facts.iterations[i].distortion)
}

test('these methods relocate', () => {
  expect(NAMES.toSorted()).toEqual(['akm', 'closures', 'closures-sharp', 'lloyd', 'rakm', 'sharp'])
})

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())

    test.each(NAMES)('%s finds separated blobs from centres that all lie in one', async (method) => {
      const given = separated()
      for (const more of [{}, { weights: Float32Array.from(given.labels, (_, i) => i % 4) }]) {
        const asked = { k: K, method, ...fewTrees(method), start: badStart(given), ...more, device } as ClusterOptions
        const model = await cluster(given.vectors, { ...asked, relocate: true })
        expect(adjustedRandIndex(model.labels, given.labels)).toBe(1)
        expect(relocations(model)).toBeGreaterThan(0)
        expect(neverRises(model)).toBe(true)
      }
    })

    test.each(NAMES)('%s never raises the distortion, whatever the data', async (method) => {
      for (const [seed, metric] of [
        [1, 'euclidean'],
        [2, 'cosine'],
      ] as const) {
        const { vectors } = blobs({ rows: 500, cols: 3, clusters: 30, spread: 0.8, seed })
        const asked: ClusterOptions = {
          k: 25,
          method,
          ...fewTrees(method),
          metric,
          start: 'random',
          tolerance: 0,
          seed,
        }
        const model = await cluster(vectors, { ...asked, iterations: 30, device })
        expect(relocations(model)).toBeGreaterThan(0)
        expect(neverRises(model)).toBe(true)
      }
    })
  })
}

describe('a run that relocates', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1, limits: { partBytes: 3000 } })
  })
  afterAll(() => device.close())
  const given = separated()
  const asked: ClusterOptions = { k: K, relocate: true, start: badStart(given), seed: 4 }

  test.each(NAMES)('%s: resumed after any round it ends with the same bits', async (method) => {
    const kept: ClusterModel[] = []
    const checkpoint = { every: 1, save: (model: ClusterModel) => void kept.push(model) }
    const whole = await cluster(given.vectors, { ...asked, method, device, checkpoint })
    expect(relocations(whole)).toBeGreaterThan(0)
    for (const resume of [...kept, whole]) {
      // Whether clusters are relocated is remembered; the start is not.
      const { start, relocate, ...again } = asked
      expect(bitsOf(await cluster(given.vectors, { ...again, method, device, resume }))).toEqual(bitsOf(whole))
    }
  })

  test.each(NAMES)('%s: the number of threads and streaming change no bit', async (method) => {
    const usual = bitsOf(await cluster(given.vectors, { ...asked, method, device }))
    for (const more of [{ threads: 2 }, { threads: 3 }, { threads: 1, limits: { memoryBytes: 4000 } }]) {
      const limits = { partBytes: 3000, ...more.limits }
      const other = await openDevice({ kind: 'cpu', threads: more.threads, limits })
      try {
        expect(bitsOf(await cluster(given.vectors, { ...asked, method, device: other }))).toEqual(usual)
      } finally {
        await other.close()
      }
    }
  })

  test.each(['lloyd', 'sharp', 'closures'] as const)(
    '%s: stopped at any moment it gives the rounds so far',
    async (method) => {
      const whole = await cluster(given.vectors, { ...asked, method, device })
      let calls = 0
      const stopping = (at: number, controller: AbortController): Device => {
        calls = 0
        return new Proxy(device, {
          get(target, property) {
            const value = Reflect.get(target, property, target)
            if (typeof value !== 'function') return value
            return (...args: unknown[]) => {
              if ((property === 'run' || property === 'read') && ++calls === at) controller.abort(new Error('stopped'))
              return value.apply(target, args)
            }
          },
        })
      }
      await cluster(given.vectors, { ...asked, method, device: stopping(0, new AbortController()) })
      const all = calls
      for (let at = 5; at < all; at += Math.ceil(all / 16)) {
        const controller = new AbortController()
        const stopped = await cluster(given.vectors, {
          ...asked,
          method,
          device: stopping(at, controller),
          signal: controller.signal,
        }).catch(() => undefined)
        if (stopped === undefined) continue
        const rounds = stopped.facts.iterations.length
        const same = await cluster(given.vectors, { ...asked, method, device, iterations: rounds })
        expect(stopped.labels).toEqual(same.labels)
        expect(stopped.centers.data).toEqual(same.centers.data)
        const rest = await cluster(given.vectors, { ...asked, method, device, resume: stopped })
        expect(bitsOf(rest)).toEqual(bitsOf(whole))
      }
    },
  )

  test.each(['lloyd', 'sharp'] as const)('%s takes sparse rows', async (method) => {
    const { rows, cols, data } = given.vectors
    const parts = {
      offsets: Array.from({ length: rows + 1 }, (_, i) => i * cols),
      columns: Array.from(data, (_, at) => at % cols),
      values: data,
    }
    const model = await cluster(sparseMatrix(parts, rows, cols), { ...asked, method, device })
    expect(adjustedRandIndex(model.labels, given.labels)).toBe(1)
    expect(relocations(model)).toBeGreaterThan(0)
  })

  test('finds many blobs among many clusters, comparing only neighbours', async () => {
    const many = separated(2400, 8, 600, 5)
    // Every third blob has three centres, the others have none.
    const first = new Map<number, number[]>()
    many.labels.forEach((label, row) => {
      if (label % 3 === 0) first.set(label, [...(first.get(label) ?? []), row].slice(0, 3))
    })
    const { cols, data } = many.vectors
    const rows = [...first.values()].flat()
    const start = matrix(
      Float32Array.from(rows.flatMap((row) => [...data.subarray(row * cols, (row + 1) * cols)])),
      600,
      cols,
    )
    const whole = await openDevice({ kind: 'cpu', threads: 2 })
    try {
      const options = { k: 600, method: 'lloyd', start, device: whole } as const
      const plain = await cluster(many.vectors, options)
      const model = await cluster(many.vectors, { ...options, relocate: true })
      expect(plain.distortion).toBeGreaterThan(5 * model.distortion)
      expect(adjustedRandIndex(model.labels, many.labels)).toBeGreaterThan(0.99)
    } finally {
      await whole.close()
    }
  })
})

describe('without relocation', () => {
  const given = separated()

  test('given centres are those of the plain method, as is relocate: false', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    try {
      const start = badStart(given)
      for (const method of NAMES) {
        const usual = await cluster(given.vectors, { k: K, method, start, device })
        const off = await cluster(given.vectors, { k: K, method, start, relocate: false, device })
        expect(bitsOf(usual)).toEqual(bitsOf(off))
        expect(usual.facts.iterations.every(({ extra }) => extra === undefined)).toBe(true)
        // The other centres can never be reached from there.
        expect(adjustedRandIndex(usual.labels, given.labels)).toBeLessThan(0.9)
      }
      const random = await cluster(given.vectors, { k: K, start: 'random', relocate: false, device })
      expect(random.facts.iterations.every(({ extra }) => extra === undefined)).toBe(true)
    } finally {
      await device.close()
    }
  })

  test('a random start with an unlucky seed needs no other', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    try {
      const run = (seed: number, relocate: boolean) =>
        cluster(given.vectors, { k: K, start: 'random', seed, relocate, device })
      let unlucky = 0
      for (let seed = 0; seed < 8; seed++) {
        if (adjustedRandIndex((await run(seed, false)).labels, given.labels) < 1) unlucky++
        expect(adjustedRandIndex((await run(seed, true)).labels, given.labels)).toBe(1)
      }
      expect(unlucky).toBeGreaterThan(2)
    } finally {
      await device.close()
    }
  })

  test('methods that cannot relocate say so', async () => {
    for (const method of ['hkm', 'minibatch', 'gmm'] as const) {
      await expect(cluster(given.vectors, { k: K, method, relocate: true })).rejects.toThrow(/relocate.*lloyd/)
    }
    await expect(cluster(given.vectors, { k: K, relocate: 'yes' as never })).rejects.toThrow(/relocate/)
  })
})
