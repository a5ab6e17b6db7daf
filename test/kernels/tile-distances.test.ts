/** Distances by products where these lose digits: pairs, and whole tiles of pairs, that are measured by differences instead. */
import { describe, expect, test, vi } from 'vitest'
import { createRandom, type Random } from '../../src/core/random.ts'
import type { ComputePass, Device } from '../../src/device/contract.ts'
import { distances } from '../../src/kernels/distances.ts'
import { respondAll } from '../../src/kernels/respond.ts'
import { distanceBound, expectClose } from '../tolerance.ts'
import { DEVICES, onDevices, useBuffers, withForms, withRun } from './devices.ts'
import { distanceMatrix, type Rows } from './oracles.ts'

// A software adapter takes its time to compile these kernels.
vi.setConfig({ testTimeout: 240_000 })

interface Case {
  readonly x: Rows
  readonly c: Rows
}

const COLUMNS = 130

/** Rows of that many groups, `spread` apart inside a group and `apart` between the groups, around `offset`. */
function rows(
  count: number,
  seed: number,
  { groups = 1, spread = 1, apart = 0, offset = 0, scale = 1 }: Partial<Record<string, number>>,
): Rows {
  const places = createRandom(99)
  const middles = Array.from({ length: groups * COLUMNS }, () => offset + apart * places.normal())
  const random = createRandom(seed)
  const data = Float32Array.from({ length: count * COLUMNS }, (_, at) => {
    const group = Math.floor(at / COLUMNS) % groups
    return scale * (middles[group * COLUMNS + (at % COLUMNS)] + spread * random.normal())
  })
  return { data, cols: COLUMNS }
}

/** Some points are centres, or as near as that against their size. */
function withCopies({ x, c }: Case, nearness: number | ((random: Random) => number)): Case {
  const data = Float32Array.from(x.data)
  const random = createRandom(7)
  for (let i = 0; i < data.length / COLUMNS; i += 3) {
    const j = (i * 5) % (c.data.length / COLUMNS)
    const near = typeof nearness === 'number' ? nearness : nearness(random)
    for (let t = 0; t < COLUMNS; t++) {
      const value = c.data[j * COLUMNS + t]
      data[i * COLUMNS + t] = i % 2 === 0 ? value : value * (1 + near * random.normal())
    }
  }
  return { x: { data, cols: COLUMNS }, c }
}

const pair = (settings: Partial<Record<string, number>>): Case => ({
  x: rows(133, 1, settings),
  c: rows(139, 2, settings),
})

const CASES: Record<string, Case> = {
  'no pair near': pair({}),
  'points that are centres': withCopies(pair({}), 0),
  'points near centres': withCopies(pair({}), 1e-3),
  'points very near centres': withCopies(pair({}), 1e-6),
  'points at all distances from centres': withCopies(pair({}), (random) => 10 ** (-3 * random.uniform())),
  'far from zero': withCopies(pair({ offset: 1000 }), 1e-6),
  // The shift cannot help: most distances within a group are small against both lengths.
  'groups far apart': pair({ groups: 7, apart: 100 }),
  'groups very far apart': pair({ groups: 5, apart: 3e5, spread: 0.3 }),
  'two groups far apart': pair({ groups: 2, apart: 1000 }),
  'all points at one place': pair({ groups: 1, apart: 10, spread: 0 }),
  'huge values': withCopies(pair({ scale: 1e17 }), 1e-4),
  'tiny values': withCopies(pair({ scale: 1e-18 }), 1e-4),
  'values whose squares vanish': pair({ scale: 1e-21 }),
  'values whose squares nearly overflow': pair({ groups: 4, apart: 1, spread: 1e-3, scale: 3e17 }),
}

async function measure(device: Device, { x, c }: Case): Promise<Float32Array> {
  return useBuffers(device, async (buffers) => {
    const points = buffers.rows(x.data, x.cols)
    const centers = buffers.rows(c.data, c.cols)
    const out = buffers.output(points.rows * centers.rows * 4)
    await distances(device, { points, centers, out: out.buffer })
    return out.floats()
  })
}

async function check(device: Device, given: Case): Promise<void> {
  const expected = distanceMatrix(given.x, given.c)
  expectClose(await measure(device, given), expected, (i) => distanceBound(COLUMNS, expected[i]))
}

/** The same device, whose kernels trust distances by products down to another share of the squared lengths. */
function trusting(device: Device, factor: number): Device {
  const change = (pass: ComputePass): ComputePass => {
    if (!pass.shader.name.includes('products')) return pass
    const { name, code } = pass.shader
    const careless = (text: string): string => {
      const changed = text.replaceAll('share * both', `${factor} * share * both`)
      expect(changed).not.toBe(text)
      return changed
    }
    return { ...pass, shader: { name: `${name}-${factor}`, code: (features) => careless(code(features)) } }
  }
  return withRun(device, (work, control) =>
    device.run({ ...work, webgpu: (gpu) => Array.from(work.webgpu(gpu), change) }, control),
  )
}

onDevices([withForms({ distances: 'products', respond: 'products' })], (opened) => {
  describe('distances by products', () => {
    test.each(Object.keys(CASES))('are as accurate as by differences: %s', async (name) => {
      await check(opened.device, CASES[name])
    })

    test('ranks of a mixture keep the digits of distances', async () => {
      for (const given of Object.values(CASES).slice(0, 8)) {
        const expected = distanceMatrix(given.x, given.c)
        const k = given.c.data.length / COLUMNS
        const scales = Float32Array.from({ length: 2 * k }, (_, i) => i % 2)
        const [best, logs] = await opened.use(async (buffers) => {
          const points = buffers.rows(given.x.data, COLUMNS)
          const best = buffers.output(points.rows * k * 4)
          const logs = buffers.output(points.rows * k * 4)
          await respondAll(buffers.device, {
            points,
            centers: buffers.rows(given.c.data, COLUMNS),
            scales: buffers.upload(scales),
            m: k,
            best: best.buffer,
            logs: logs.buffer,
            evidence: buffers.output(points.rows * 4).buffer,
          })
          return [await best.words(), await logs.floats()]
        })
        const true0 = Float64Array.from(best, (component, at) => -expected[Math.floor(at / k) * k + component])
        expectClose(logs, true0, (i) => distanceBound(COLUMNS, -true0[i]))
      }
    })

    test('a bound that is too small is noticed', async () => {
      const careless = trusting(opened.device, 0.01)
      await expect(check(careless, CASES['points at all distances from centres'])).rejects.toThrow(/deeply equal/)
      // Distances that vanish beside the lengths are seen by any test, so the rest needs none at all.
      const blind = trusting(opened.device, -1)
      for (const name of ['points near centres', 'points very near centres', 'far from zero', 'groups far apart']) {
        await expect(check(blind, CASES[name])).rejects.toThrow(/deeply equal/)
      }
      await check(blind, CASES['no pair near'])
    })

    test('only pairs that need it are measured by differences', async () => {
      // Without a test at all, the pairs far apart have the same bits.
      const [sure, unsure] = [CASES['no pair near'], CASES['points near centres']]
      expect(await measure(trusting(opened.device, -1), sure)).toEqual(await measure(opened.device, sure))
      expect(await measure(trusting(opened.device, -1), unsure)).not.toEqual(await measure(opened.device, unsure))
    })
  })
})

test('every device measures these cases as accurately', async () => {
  for (const { open } of DEVICES.filter(({ name }) => name.startsWith('cpu with 1') || name.includes('in blocks'))) {
    const device = await open()
    for (const given of Object.values(CASES)) await check(device, given)
    await device.close()
  }
})
