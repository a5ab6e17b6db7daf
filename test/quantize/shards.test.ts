/** What must not change a bit of a quantizer: whether other processes own the shards, how many, and which of them owns which. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toSource } from '../../src/core/matrix.ts'
import { sampledSource, sampleRows } from '../../src/core/sampled-source.ts'
import {
  blobs,
  type Device,
  openDevice,
  type Quantizer,
  type QuantizerOptions,
  trainQuantizer,
  type VectorSource,
} from '../../src/index.ts'
import type { TrainingDescription, TrainingMachines } from '../../src/quantize/trainer.ts'
import { TrainingPoints } from '../../src/quantize/training-points.ts'
import { PointStore } from '../../src/vectors/points.ts'

const SHARDS = [200, 0, 1, 133, 266]
const { vectors } = blobs({ rows: 600, cols: 11, clusters: 20, seed: 4 })
const source: VectorSource = { ...toSource(vectors), shards: SHARDS }

/** Owners in this process, each with its own device; answers come in another order than that of the shards. */
function machines(devices: readonly Device[]): TrainingMachines {
  return {
    async beginTraining(given, description) {
      const { frame, layout, sample, seed } = structuredClone(description) as TrainingDescription
      const used = sample === undefined ? given : sampledSource(given, sample, seed)
      const owners = await Promise.all(
        devices.map(async (device, owner) => {
          const owned = new Set([...layout.shards.keys()].filter((shard) => shard % devices.length === owner))
          const points = await PointStore.open(device, used, { frame, layout, owned })
          return { points, training: new TrainingPoints(device, points, description) }
        }),
      )
      return {
        async ask(name, args) {
          const answers = await Promise.all(
            owners.map(async ({ training }) => {
              if (name === 'moments') return training.moments()
              if (name === 'covariance') return { words: await training.covariance() }
              return training.partialSums(structuredClone(args) as Parameters<typeof training.partialSums>[0], {})
            }),
          )
          return structuredClone(answers).reverse() as never
        },
        async close() {
          for (const { points, training } of owners) {
            training.free()
            points.free()
          }
        },
      }
    },
  }
}

function bitsOf({ codec, facts }: Quantizer): object {
  const { books, rotation, offset, ranges } = codec
  return { books, rotation, offset, ranges, distortions: facts.iterations.map(({ distortion }) => distortion) }
}

const CASES: { name: string; options: QuantizerOptions }[] = [
  { name: 'pq', options: { type: 'pq', m: 3, codewords: 16 } },
  { name: 'pq in principal directions', options: { type: 'pq', m: 3, codewords: 16, order: 'principal' } },
  { name: 'ck', options: { type: 'ck', m: 3, codewords: 16 } },
  { name: 'ck of lower rank', options: { type: 'ck', m: 2, codewords: 8, rank: 5 } },
  { name: 'ok', options: { type: 'ok', m: 8 } },
  { name: 'itq', options: { type: 'itq', m: 8 } },
]

const devices: Device[] = []
beforeAll(async () => {
  for (let i = 0; i < 4; i++) devices.push(await openDevice({ kind: 'cpu', threads: 1, shared: false }))
})
afterAll(async () => {
  for (const device of devices) await device.close()
})

describe('over shards', () => {
  test.each(CASES)('$name: the same bits from one owner and from three', async ({ options }) => {
    const asked = { ...options, iterations: 6, tolerance: 0, seed: 2, device: devices[0] }
    for (const sample of [600, 200]) {
      const alone = await trainQuantizer(source, { ...asked, sample })
      expect(alone.facts.rows).toBe(sample)
      for (const count of [1, 3]) {
        const on = machines(devices.slice(1, 1 + count))
        expect(bitsOf(await trainQuantizer(source, { ...asked, sample, on }))).toEqual(bitsOf(alone))
      }
    }
  })

  test.each(CASES)('$name: as good as without shards', async ({ options }) => {
    const asked = { ...options, iterations: 25, seed: 2, device: devices[0] }
    const plain = await trainQuantizer(vectors, asked)
    const sharded = await trainQuantizer(source, asked)
    // Sums are rounded differently, so a tie may go another way.
    expect(Math.abs(sharded.distortion / plain.distortion - 1)).toBeLessThan(0.02)
    expect(sharded.distortion).toBeCloseTo(await sharded.distortionOf(vectors, { device: devices[0] }), 2)
  })

  test('vectors without shards are refused with other machines', async () => {
    const on = machines(devices.slice(1, 2))
    await expect(trainQuantizer(vectors, { type: 'pq', m: 3, codewords: 4, on })).rejects.toThrow(/openShards/)
  })
})

describe('a sample', () => {
  test('has the rows that were drawn, and its shards those that lie in them', async () => {
    const wanted = sampleRows(600, 100, 9)
    const sample = sampledSource(source, 100, 9)
    expect(sample.rows).toBe(100)
    let end = 0
    const within = SHARDS.map((rows) => {
      end += rows
      return wanted.filter((row) => row < end && row >= end - rows).length
    })
    expect(sample.shards).toEqual(within)
    const rows = await sample.read(7, 93)
    for (let i = 7; i < 93; i++) {
      expect(rows.subarray((i - 7) * 11, (i - 6) * 11)).toEqual(await source.read(wanted[i], wanted[i] + 1))
    }
    expect(sampledSource(source, 600, 9)).toBe(source)
  })
})
