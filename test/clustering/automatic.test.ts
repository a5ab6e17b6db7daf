/** `k: 'auto'`: the number of clusters, how sure it is, and what happens with data that has none. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bestOverlaps } from '../../src/clustering/automatic.ts'
import {
  type AnyClusterOptions,
  blobs,
  CentroidalError,
  type ClusterOptions,
  cluster,
  createRandom,
  type Device,
  loadModel,
  matrix,
  openDevice,
  sparseMatrix,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { bitsOf } from './contract/subjects.ts'
import { spacedModes } from './mixture-clouds.ts'

const path = temporaryFolder()
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 })
})
afterAll(() => device.close())

async function refused(vectors: Parameters<typeof cluster>[0], options: AnyClusterOptions): Promise<string> {
  const error = await cluster(vectors, { device, ...options } as ClusterOptions).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CentroidalError)
  return (error as Error).message
}

describe('separated clusters', () => {
  const { vectors } = blobs({ rows: 400, cols: 5, clusters: 4, separated: true })

  test('their number, how sure it is, and by which method; all of it saved', async () => {
    const model = await cluster(vectors, { k: 'auto', device })
    expect(model.facts).toMatchObject({ k: 4, method: 'egm' })
    expect(Array.from(model.sizes)).toEqual([100, 100, 100, 100])
    expect(model.facts.options.methodReason).toMatch(/^chosen by auto: finds the number of clusters/)
    const { certainty } = model.facts
    expect(certainty).toMatchObject({ others: [4, 4], stable: 4 })
    expect(certainty?.stability).toHaveLength(4)
    for (const index of certainty?.stability ?? []) expect(index).toBeGreaterThan(0.95)
    expect(certainty?.sentence).toBe(
      'Runs with other seeds on random halves of the vectors found 4 and 4 clusters too, with the same members: the number is well determined.',
    )
    await model.save(path('sure'))
    const loaded = await loadModel(path('sure'))
    expect(loaded.facts.certainty).toEqual(certainty)
    expect(bitsOf(loaded)).toEqual(bitsOf(model))
  })

  test('a search that was cut short says so, and nothing about the number', async () => {
    const { facts } = await cluster(vectors, { k: 'auto', iterations: 1, device })
    expect(facts.stopped).toBe('iterations')
    expect(facts.certainty?.sentence).toMatch(
      /^Runs with other seeds on random halves of the vectors found \d+ and \d+ clusters, but the search was cut short: the number is preliminary/,
    )
    expect(facts.certainty?.sentence).not.toMatch(/determine/)
  })

  test('the check changes nothing of the model, and is the same each time', async () => {
    const plain = await cluster(vectors, { method: 'egm', seed: 5, device })
    const [first, second] = [
      await cluster(vectors, { k: 'auto', seed: 5, device }),
      await cluster(vectors, { k: 'auto', seed: 5, device }),
    ]
    expect(plain.facts.certainty).toBeUndefined()
    expect(first.labels).toEqual(plain.labels)
    expect(first.centers).toEqual(plain.centers)
    expect(second.facts.certainty).toEqual(first.facts.certainty)
  })

  test.each(['egm', 'agm'] as const)('with method %s, which is taken as asked', async (method) => {
    const model = await cluster(vectors, { k: 'auto', method, device })
    expect(model.facts).toMatchObject({ k: 4, method, certainty: { stable: 4 } })
  })

  test('with weights, which the check takes along: points without weight are no cluster', async () => {
    const full = await cluster(vectors, { k: 4, device })
    const weights = Float32Array.from(full.labels, (label) => Number(label > 0))
    const { facts } = await cluster(vectors, { k: 'auto', weights, device })
    expect(facts).toMatchObject({ k: 3, certainty: { others: [3, 3] } })
  })

  test('weights of 1 and 2 make the number no less sure', async () => {
    const weights = Float32Array.from({ length: vectors.rows }, (_, i) => 1 + (i % 2))
    const { facts } = await cluster(vectors, { k: 'auto', weights, device })
    expect(facts).toMatchObject({ k: 4, certainty: { others: [4, 4] } })
  })

  test('bytes stay bytes', async () => {
    const { points } = spacedModes(
      3,
      4,
      [60, 60, 60].map((size) => ({ size, sigma: 3 })),
      30,
    )
    const bytes = Uint8Array.from(points.data, (value) => Math.max(0, Math.min(255, 128 + value)))
    const model = await cluster(matrix(bytes, points.rows, 4), { k: 'auto', device })
    expect(model.facts).toMatchObject({ k: 3, certainty: { stable: 3 } })
  })

  test('stopped during the check, it is the model without certainty', async () => {
    const stop = new AbortController()
    const phases: string[] = []
    const model = await cluster(vectors, {
      k: 'auto',
      device,
      signal: stop.signal,
      onProgress: (_, phase = '') => {
        phases.push(phase)
        if (phase === 'checking the number of clusters') stop.abort()
      },
    })
    expect(phases).toContain('checking the number of clusters')
    expect(model.facts.k).toBe(4)
    expect(model.facts.stopped).not.toBe('aborted')
    expect(model.facts.certainty).toBeUndefined()
  })

  test('stopped before the number is found, there is no certainty either', async () => {
    const stop = new AbortController()
    const model = await cluster(vectors, {
      k: 'auto',
      device,
      signal: stop.signal,
      onIteration: ({ iteration }) => {
        if (iteration === 3) stop.abort()
      },
    })
    expect(model.facts.stopped).toBe('aborted')
    expect(model.facts.certainty).toBeUndefined()
  })

  test('resumed, it ends as it would have', async () => {
    const whole = await cluster(vectors, { k: 'auto', device })
    const half = await cluster(vectors, { k: 'auto', iterations: 4, device })
    const rest = await cluster(vectors, { k: 'auto', resume: half, device })
    expect(bitsOf(rest)).toEqual(bitsOf(whole))
    expect(rest.facts.certainty).toEqual(whole.facts.certainty)
  })
})

describe('data without clusters', () => {
  function noise(cols: number, draw: (random: ReturnType<typeof createRandom>) => number): Promise<unknown> {
    const random = createRandom(cols)
    const points = matrix(
      Float32Array.from({ length: 400 * cols }, () => draw(random)),
      400,
      cols,
    )
    return cluster(points, { k: 'auto', device }).then(({ facts }) => facts)
  }

  test.each([1, 2, 10])('one Gaussian in %i dimensions is one cluster', async (cols) => {
    expect(await noise(cols, (random) => random.normal())).toMatchObject({ k: 1, certainty: { stability: [1] } })
  })

  test.each([2, 10])('a cube in %i dimensions is one cluster, or the number is not well determined', async (cols) => {
    const { k, certainty } = (await noise(cols, (random) => random.uniform())) as {
      k: number
      certainty: { sentence: string }
    }
    if (k > 1) expect(certainty.sentence).toMatch(/do not determine the number well/)
  })

  test('one point, two points, and points that are all the same', async () => {
    const single = await cluster([[1, 2, 3]], { k: 'auto', device })
    expect(single.facts.k).toBe(1)
    expect(Array.from(single.centers.data)).toEqual([1, 2, 3])
    // Too few to be halved.
    expect(single.facts.certainty).toBeUndefined()
    const two = await cluster(
      [
        [0, 0],
        [1, 1],
      ],
      { k: 'auto', device },
    )
    expect(two.facts.k).toBeLessThanOrEqual(2)
    for (const rows of [2, 30, 100]) {
      const same = await cluster(matrix(new Float32Array(rows * 2).fill(7), rows, 2), { k: 'auto', device })
      expect(same.facts.k).toBe(1)
      expect(Array.from(same.centers.data)).toEqual([7, 7])
      if (rows === 100) expect(same.facts.certainty).toMatchObject({ others: [1, 1], stability: [1], stable: 1 })
    }
  })
})

describe('what is refused', () => {
  test('numbers that are none: the row is named', async () => {
    const data = new Float32Array(200).map((_, i) => i)
    data[2 * 37 + 1] = Number.NaN
    expect(await refused(matrix(data, 100, 2), { k: 'auto' })).toMatch(/\b37\b.*NaN/)
  })

  test('sparse rows', async () => {
    const sparse = sparseMatrix({ offsets: [0, 1, 2, 3], columns: [0, 1, 2], values: [1, 1, 1] }, 3, 4)
    expect(await refused(sparse, { k: 'auto' })).toMatch(/^Option k is "auto": .*requires dense rows.*; give k\.$/)
  })

  test('methods that need a number', async () => {
    const vectors = [[1], [2], [3]]
    for (const method of ['lloyd', 'gmm', 'closures', 'hkm'] as const) {
      const message = await refused(vectors, { k: 'auto', method })
      expect(message).toMatch(
        new RegExp(`^Option k is "auto": ${method} needs a number; leave method out, or give agm or egm`),
      )
    }
  })

  test('other words, and no k', async () => {
    const vectors = [[1], [2], [3]]
    for (const k of ['many', '', '3', {}, Number.NaN, 0, 1.5] as unknown as number[]) {
      expect(await refused(vectors, { k })).toMatch(/^Option k .*'auto'/i)
    }
    expect(await refused(vectors, {})).toMatch(/'auto'/)
  })

  test('options of the overlap criterion without it, and values that are none', async () => {
    const vectors = [[1], [2], [3]]
    for (const name of ['lambda', 'tau'] as const) {
      for (const asked of [{ k: 'auto' }, { method: 'egm' }, { method: 'agm', criterion: 'bic' }] as const) {
        const message = await refused(vectors, { ...asked, [name]: 0.3 })
        expect(message).toMatch(new RegExp(`^Option ${name} is 0.3: (egm|agm) uses it only with criterion 'overlap'`))
      }
    }
    expect(await refused(vectors, { method: 'egm', criterion: 'overlap', lambda: 2 })).toMatch(/0 to 1/)
    expect(await refused(vectors, { method: 'egm', criterion: 'aic' as 'bic' })).toMatch(/bic.*overlap/)
    for (const prior of [-1, 1001, Number.NaN, '1' as unknown as number]) {
      expect(await refused(vectors, { method: 'egm', prior })).toMatch(/prior/)
    }
    expect(await refused(vectors, { method: 'lloyd', k: 2, prior: 1 })).toMatch(/lloyd does not support this option/)
    expect(await refused(vectors, { method: 'gmm', k: 2, criterion: 'bic' })).toMatch(
      /gmm does not support this option/,
    )
  })
})

test('a cluster is as stable as the most similar one of the other labels', () => {
  const overlaps = bestOverlaps(Uint32Array.of(0, 0, 0, 1, 1, 1), 3, Uint32Array.of(1, 1, 0, 0, 0, 0), 2)
  expect(Array.from(overlaps)).toEqual([2 / 3, 3 / 4, 0])
})
