/** A report for every method there is, and for data that leaves little to draw. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterPage } from '../../src/cli/report/cluster-page.ts'
import { MixtureCourse } from '../../src/cli/report/mixture.ts'
import { clusterRun, type RunNotes } from '../../src/cli/run-folder.ts'
import {
  blobs,
  type ClusterModel,
  type ClusterOptions,
  clusterSteps,
  type Device,
  METHODS,
  type MethodName,
  openDevice,
  sparseMatrix,
  type VectorInput,
  type VectorSource,
} from '../../src/index.ts'
import { expectWholePage, headings } from './pages.ts'

const NAMES = Object.keys(METHODS) as MethodName[]
let device: Device

beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

function points(rows: number, cols: number): VectorSource {
  const { data } = blobs({ rows, cols, clusters: 4, seed: 2 }).vectors
  return {
    ...{ rows, cols, type: 'f32', name: 'points' },
    read: async (start, end) => data.subarray(start * cols, end * cols),
  }
}

async function reported(
  vectors: VectorInput & { readonly cols: number; readonly rows: number },
  options: ClusterOptions,
  notes: RunNotes = {},
): Promise<{ page: string; model: ClusterModel }> {
  const course = 'read' in vectors ? new MixtureCourse(vectors) : undefined
  const steps = clusterSteps(vectors, { device, iterations: 20, ...options })
  for (;;) {
    const step = await steps.next()
    if (step.done) {
      const mixture = await course?.drawn()
      const run = clusterRun('run', step.value, { ...(mixture ? { mixture } : {}), ...notes })
      return { page: await clusterPage('A run', run), model: step.value }
    }
    await course?.take(step.value)
  }
}

function optionsOf(method: MethodName): ClusterOptions {
  return METHODS[method].findsCount ? { method, start: 40 } : { method, k: 7 }
}

describe.each(NAMES)('%s', (method) => {
  test.each([1, 2, 6])('in %i dimensions', async (cols) => {
    const { page, model } = await reported(points(150, cols), optionsOf(method))
    expectWholePage(page)
    const found = headings(page)
    const course = ['Distortion over rounds', 'Distortion over time', 'Points that moved', 'Centres evaluated']
    for (const heading of [...course, 'Cluster sizes', 'Numbers', 'How it was made']) expect(found).toContain(heading)
    expect(page).toContain(`Method ${method}`)
    expect(page).toContain(
      `rounds of ${method}`.replace('rounds', model.facts.iterations.length === 1 ? 'round' : 'rounds'),
    )
    if (model.facts.k > 1) {
      expect(found).toContain('Map of the centres')
      const dots = model.sizes.filter((size) => size > 0).length
      expect(page).toContain(`Map: ${dots} centres as circles`)
      expect(page.split('aria-label="Map:')[1].match(/<circle /g)).toHaveLength(dots)
    }
    const { extra } = model.facts.iterations[0]
    expect(found.includes('Components removed')).toBe(extra?.purged !== undefined)
    expect(found.includes('Components left')).toBe(METHODS[method].findsCount === true)
    expect(found.includes('Log-likelihood')).toBe(extra?.logLikelihood !== undefined)
    expect(found.includes('The mixture, round by round')).toBe(cols === 2 && model.sigmas !== undefined)
  })

  test('of one round', async () => {
    const { page } = await reported(points(60, 3), { ...optionsOf(method), iterations: 1 })
    expectWholePage(page)
    expect(page).toContain('<dt>round</dt><dd>1</dd>')
    expect(page).toMatch(/stopped after 1 round of/)
  })
})

test.each(NAMES.filter((name) => !METHODS[name].findsCount))('%s with one cluster', async (method) => {
  const { page } = await reported(points(60, 3), { method, k: 1 })
  expectWholePage(page)
  expect(headings(page)).not.toContain('Map of the centres')
  expect(page).toContain('The cluster has 60 points.')
  expect(page).toContain('The only cluster')
})

test('an interrupted run says so', async () => {
  const stop = new AbortController()
  const onIteration = (): void => stop.abort()
  const { page } = await reported(points(80, 3), {
    k: 4,
    method: 'minibatch',
    tolerance: 0,
    signal: stop.signal,
    onIteration,
  })
  expectWholePage(page)
  expect(page).toMatch(/stopped after 1 round of minibatch: it was interrupted/)
})

test('sparse rows are called so', async () => {
  const rows = Array.from({ length: 60 }, (_, i) => i)
  const documents = sparseMatrix(
    {
      offsets: [...rows, 60].map((i) => i * 2),
      columns: rows.flatMap((i) => [i % 5, 10 + (i % 7)]),
      values: rows.flatMap(() => [1, 2]),
    },
    60,
    200,
  )
  const { page } = await reported(documents, { k: 3, method: 'lloyd' }, { sparseEntries: 120, file: 'docs.npz' })
  expectWholePage(page)
  expect(page).toContain('The 60 vectors of docs.npz, 200 numbers each and sparse (2 of them not zero on average, 1%)')
  expect(page).toContain('<dt>dimensions, sparse</dt><dd>200</dd>')
})

describe('rounds of a mixture', () => {
  const shown = (page: string): number[] =>
    [...page.matchAll(/<h3>Round (\d+)<\/h3>/g)].map((match) => Number(match[1]))

  test('all of them while they are few', async () => {
    const { page, model } = await reported(points(80, 2), { method: 'gmm', k: 4, iterations: 9, tolerance: 0 })
    expect(shown(page)).toEqual(model.facts.iterations.map(({ iteration }) => iteration))
    expect(page).toContain('All 9 rounds of the run.')
    expect(page.match(/after round 3"[\s\S]*?<\/svg>/)?.[0].match(/<circle /g)).toHaveLength(2 * 4)
  })

  test('on a logarithmic scale where they are many, and the last', async () => {
    const { page } = await reported(points(80, 2), { method: 'gmm', k: 4, iterations: 70, tolerance: 0 })
    const rounds = shown(page)
    const last = rounds[rounds.length - 1]
    expect(last).toBeGreaterThan(13)
    expect(rounds).toEqual([...[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].filter((round) => round < last), last])
    expect(page).toContain(`Of ${last} rounds those on a logarithmic scale`)
  })
})
