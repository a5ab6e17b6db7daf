/** A run that is interrupted after any round and resumed ends with the bits of one that was not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterModel, cluster, type Device, openDevice } from '../../../src/index.ts'
import { bitsOf, cloud, SUBJECTS } from './subjects.ts'

const vectors = cloud()
const weights = Float32Array.from({ length: vectors.rows }, (_, i) => 0.5 + (i % 3))

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1, limits: { partBytes: 4000 } })
})
afterAll(() => device.close())

describe('resumed after each round', () => {
  test.each(SUBJECTS)('$name', async ({ method, options }) => {
    const weighted = method === 'minibatch' || method === 'lvq' ? {} : { weights }
    for (const more of [{ metric: 'euclidean' }, { metric: 'cosine', ...weighted }] as const) {
      const asked = { ...options, ...more, iterations: 7, device }
      const kept: ClusterModel[] = []
      const whole = await cluster(vectors, {
        ...asked,
        checkpoint: { every: 1, save: (model) => void kept.push(model) },
      })
      expect(kept).toHaveLength(whole.facts.iterations.length)
      // Every round once; with weights and directions the first and the last.
      for (const half of more.metric === 'cosine' ? [kept[0], whole] : [...kept, whole]) {
        const rest = await cluster(vectors, { ...asked, resume: half })
        expect(bitsOf(rest)).toEqual(bitsOf(whole))
      }
    }
  })
})

test.each(SUBJECTS)('$name: a run that is over stays as it is', async ({ options }) => {
  const asked = { ...options, iterations: 200, tolerance: 1e-4, device }
  const done = await cluster(vectors, asked)
  const again = await cluster(vectors, { ...asked, iterations: 400, resume: done })
  if (done.facts.stopped !== 'iterations') expect(bitsOf(again)).toEqual(bitsOf(done))
  else expect(again.facts.iterations.length).toBeGreaterThan(200)
})

test('a checkpoint goes on with its restart and those after it, and remembers the best before', async () => {
  for (const [given, best] of [
    [{ k: 9, method: 'lloyd', start: 'random' }, 'distortion'],
    [{ k: 6, method: 'gmm', start: 'random' }, 'logLikelihood'],
  ] as const) {
    const asked = { ...given, restarts: 4, iterations: 4, tolerance: 0, seed: 1, device }
    const kept: ClusterModel[] = []
    const whole = await cluster(vectors, { ...asked, checkpoint: { every: 2, save: (model) => void kept.push(model) } })
    expect(kept.map(({ facts }) => facts.iterations.at(-1)?.restart)).toEqual([0, 0, 1, 1, 2, 2, 3, 3])
    for (const half of kept)
      expect(bitsOf(await cluster(vectors, { ...asked, resume: half })), best).toEqual(bitsOf(whole))
    // The result of all restarts goes on alone.
    const more = await cluster(vectors, { ...asked, iterations: 6, resume: whole })
    expect(new Set(more.facts.iterations.map(({ restart }) => restart)).size).toBe(1)
    expect(more.facts.iterations).toHaveLength(6)
  }
})

test('a search that was tuned in the first round stays as it is', async () => {
  const many = cloud(5, 900, 8)
  const asked = { method: 'rakm', k: 250, precision: 0.6, branching: 4, start: 'random', tolerance: 0, device } as const
  const whole = await cluster(many, { ...asked, iterations: 5 })
  expect(whole.facts.iterations[0].candidates).toBeLessThan(100)
  const half = await cluster(many, { ...asked, iterations: 2 })
  expect(bitsOf(await cluster(many, { ...asked, iterations: 5, resume: half }))).toEqual(bitsOf(whole))
})
