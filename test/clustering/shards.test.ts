/** Shards beyond same bits: a device that fails, and moves of domains that know nothing of each other. */
import { describe, expect, test } from 'vitest'
import { iterate } from '../../src/clustering/loop.ts'
import type { Crew } from '../../src/clustering/members.ts'
import { resolveOptions } from '../../src/clustering/options.ts'
import { METHODS } from '../../src/clustering/presets.ts'
import { createRunState, readCenters, replaceCenters } from '../../src/clustering/run-state.ts'
import { Team } from '../../src/clustering/team.ts'
import { type Matrix, toSource } from '../../src/core/matrix.ts'
import type { Device } from '../../src/device/contract.ts'
import { blobs, cluster, distortion, openDevice } from '../../src/index.ts'
import type { MethodName } from '../../src/models/method-names.ts'
import { inspectVectors, largestInFrame } from '../../src/vectors/frame.ts'
import { PointStore } from '../../src/vectors/points.ts'
import { cloud } from './contract/subjects.ts'

/** A device that fails once, at the n-th kernel it runs after it was armed. */
function failing(device: Device): { device: Device; arm(runs: number): void } {
  let left = Number.POSITIVE_INFINITY
  return {
    arm: (runs) => {
      left = runs
    },
    device: new Proxy(device, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown
        if (typeof value !== 'function') return value
        const call = value.bind(target) as (...args: unknown[]) => unknown
        if (name !== 'run') return call
        return async (...args: unknown[]) => {
          if (left-- === 0) {
            left = Number.POSITIVE_INFINITY
            throw new Error('the device failed')
          }
          return call(...args)
        }
      },
    }),
  }
}

const LOOP = {
  iterations: 12,
  tolerance: 0,
  empty: 'farthest',
  weights: undefined,
  relocate: false,
  roundingError: 0,
  history: [],
  sameMethod: false,
  timeIsUp: () => false,
} as const

/** What a run works on, before its first round. */
async function openCrew(devices: readonly Device[], vectors: Matrix, method: MethodName): Promise<Crew> {
  const source = toSource(vectors)
  const inspected = await inspectVectors(source, 'euclidean')
  const { frame } = inspected
  const { k, settings } = resolveOptions({ method, k: 6, seed: 3 }, source as { rows: number; cols: number })
  const points = await PointStore.open(devices, source, { frame, shards: [90, 1, 60, 89] })
  const team = new Team()
  const members = devices.map((_, owner) => {
    const largest = largestInFrame(inspected, frame)
    const totals = { totalWeight: source.rows, weightScale: 1, evidence: source.rows, largest }
    const setting = { seed: 3, settings, weights: undefined, control: {}, ...totals }
    const state = createRunState(team, points, owner, k, setting)
    return { state, candidates: METHODS[method].candidates(state), update: METHODS[method].update(state) }
  })
  replaceCenters(team.lead, await points.gather([0, 40, 80, 120, 160, 200]))
  await team.shareCenters()
  return { team, members }
}

/** Centres and labels on all devices. */
async function stateOf({ team }: Crew): Promise<object> {
  return {
    centers: await Promise.all(team.states.map((state) => readCenters(state))),
    labels: await team.lead.points.readLabels(),
  }
}

describe('a device that fails in mid-round', () => {
  test.each([
    ['lloyd', 0],
    ['lloyd', 2],
    ['closures', 3],
    ['closures-sharp', 1],
    ['closures-sharp', 4],
    ['sharp', 1],
  ] as [MethodName, number][])(
    '%s, at its kernel %i: the run is as it was after the round before',
    async (method, runs) => {
      const vectors = cloud(6)
      const good = await openDevice({ kind: 'cpu', threads: 1, shared: false })
      const bad = failing(await openDevice({ kind: 'cpu', threads: 1, shared: false }))
      try {
        const crew = await openCrew([good, bad.device], vectors, method)
        const steps = iterate(crew, LOOP)
        for (let round = 0; round < 3; round++) expect((await steps.next()).done).toBe(false)
        // The generator learns from a round when it is asked for the next one, which then fails.
        const before = await stateOf(crew)
        bad.arm(runs)
        await expect(steps.next()).rejects.toThrow('the device failed')
        expect(await stateOf(crew)).toEqual(before)
        crew.team.free()
        crew.team.lead.points.free()
        expect(good.allocatedBytes).toBe(0)
      } finally {
        await good.close()
        await bad.device.close()
      }
    },
  )
})

describe('moves of several domains', () => {
  test.each(['sharp', 'closures-sharp'] as const)('%s never raises the objective', async (method) => {
    const device = await openDevice({ kind: 'cpu', threads: 1, shared: false, limits: { partBytes: 64 * 40 } })
    try {
      for (let seed = 0; seed < 12; seed++) {
        const { vectors } = blobs({ rows: 600, cols: 10, clusters: 40, seed })
        const model = await cluster(vectors, {
          method,
          k: 60,
          seed,
          tolerance: 0,
          iterations: 15,
          start: 'random',
          device,
        })
        const course = model.facts.iterations.map((step) => step.distortion)
        course.slice(1).forEach((value, i) => {
          expect(value).toBeLessThanOrEqual(course[i] * (1 + 1e-6))
        })
        expect(model.distortion).toBeCloseTo(distortion(vectors, model.centers, model.labels), 4)
      }
    } finally {
      await device.close()
    }
  })
})

test.each(['lloyd', 'closures-sharp', 'gmm'] as const)('%s on a CPU device and a GPU together', async (method) => {
  const { vectors } = blobs({ rows: 600, cols: 70, clusters: 9, separated: true, seed: 3 })
  const devices = [await openDevice({ kind: 'cpu', threads: 1 }), await openDevice({ kind: 'webgpu' })]
  try {
    const options = { method, k: 9, seed: 4, iterations: 6, shards: [200, 1, 199, 200] }
    const both = await cluster(vectors, { ...options, devices })
    const alone = await cluster(vectors, { ...options, device: devices[0] })
    expect(both.distortion).toBeCloseTo(distortion(vectors, both.centers, both.labels), 2)
    expect(both.distortion / alone.distortion).toBeLessThan(1.01)
  } finally {
    for (const device of devices) await device.close()
  }
})
