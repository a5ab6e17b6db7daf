/** Runs whose memory is limited: what they take, what they read, and what they leave behind. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import type { ScratchFile } from '../../src/core/bytes.ts'
import {
  type ClusterOptions,
  cluster,
  clusterSteps,
  type DeviceOptions,
  type Matrix,
  matrix,
  openDevice,
  trainQuantizer,
  type VectorSource,
} from '../../src/index.ts'
import { normal } from './clouds.ts'

const COLS = 40
/** Parts of 100 rows of 40 floats. */
const PART_ROWS = 100
const limits = { partBytes: PART_ROWS * COLS * 4 }
/** Room for a part, not for two. */
const limited = { ...limits, totalBytes: 128_000 }
const BASE: DeviceOptions = { kind: 'cpu', threads: 2 }

/** Wide enough for sketches. */
function cloud(rows: number): Matrix {
  const noise = normal(rows, COLS, 3)
  return matrix(
    noise.data.map((value, at) => value + 4 * ((Math.floor(at / COLS) * 7 + (at % COLS)) % 5)),
    rows,
    COLS,
  )
}

/** Rows of a file: each read is counted. */
function counted(vectors: Matrix, reads: [number, number][]): VectorSource {
  const { rows, cols, data } = vectors
  return {
    rows,
    cols,
    type: 'f32',
    name: 'counted',
    async read(start, end) {
      reads.push([start, end])
      return data.slice(start * cols, end * cols)
    },
  }
}

/** Temporary files that were opened, and what became of them. */
function watchScratch(): { open: number; opened: number; written: number } {
  const seen = { open: 0, opened: 0, written: 0 }
  const create = platform.createScratch as NonNullable<typeof platform.createScratch>
  vi.spyOn(platform as { createScratch: typeof create }, 'createScratch').mockImplementation(async (folder) => {
    const file = await create(folder)
    seen.open++
    seen.opened++
    const watched: ScratchFile = {
      read: (bytes, at) => file.read(bytes, at),
      write(bytes, at) {
        seen.written += bytes.length
        return file.write(bytes, at)
      },
      async close() {
        seen.open--
        await file.close()
      },
    }
    return watched
  })
  return seen
}

afterEach(() => void vi.restoreAllMocks())

const CLOSURES: ClusterOptions = {
  k: 12,
  method: 'closures-sharp',
  iterations: 6,
  tolerance: 0,
  relocate: false,
  batch: 32,
  leafSize: 12,
  trees: 3,
}

describe('limited memory', () => {
  test('closures-sharp gives the same labels, with sketches and trees in a temporary file', async () => {
    const vectors = cloud(950)
    const weights = Float32Array.from({ length: 950 }, (_, i) => 1 + (i % 3))
    for (const more of [{}, { weights }, { relocate: true, start: 'random' as const }]) {
      const options = { ...CLOSURES, ...more }
      const usual = await cluster(vectors, { ...options, device: { ...BASE, limits } })
      const seen = watchScratch()
      const model = await cluster(vectors, { ...options, device: { ...BASE, limits: limited } })
      vi.restoreAllMocks()
      expect(seen.opened).toBeGreaterThan(0)
      expect(seen.open).toBe(0)
      // Labels in turn and distances of nine parts, and their trees.
      expect(seen.written).toBeGreaterThan(900 * 4 * 4)
      expect(model.labels).toEqual(usual.labels)
      expect(model.centers.data).toEqual(usual.centers.data)
      expect(model.distortion).toBe(usual.distortion)
    }
  })

  test('so does it on WebGPU', async () => {
    const vectors = cloud(450)
    const options = { ...CLOSURES, iterations: 3 }
    const gpu = { kind: 'webgpu' } as const
    const usual = await cluster(vectors, { ...options, device: { ...gpu, limits } })
    const seen = watchScratch()
    const model = await cluster(vectors, { ...options, device: { ...gpu, limits: limited } })
    expect(seen.opened).toBeGreaterThan(0)
    expect(seen.open).toBe(0)
    expect(seen.written).toBeGreaterThan(400 * 4 * 4)
    expect(model.labels).toEqual(usual.labels)
    expect(model.centers.data).toEqual(usual.centers.data)
  })

  test('clusters are relocated where the memory for it is there, or where that is asked for', async () => {
    const vectors = cloud(600)
    const { relocate: _, ...options } = CLOSURES
    const limitedTo = async (totalBytes: number, more: object = {}) => {
      const { facts } = await cluster(vectors, { ...options, ...more, device: { ...BASE, limits: { totalBytes } } })
      return facts.options.relocate
    }
    // 28 bytes for each vector and number of a centre: 30,240 in all.
    expect(await limitedTo(8 * 30_240)).toBe(true)
    expect(await limitedTo(8 * 30_000)).toBe(false)
    expect(await limitedTo(8 * 30_000, { relocate: true })).toBe(true)
  })

  test('what is taken on the device does not grow with the number of vectors', async () => {
    const most = async (rows: number, device: DeviceOptions): Promise<number> => {
      const open = await openDevice(device)
      let peak = 0
      const allocate = open.allocate.bind(open)
      open.allocate = (bytes, label) => {
        const buffer = allocate(bytes, label)
        peak = Math.max(peak, open.allocatedBytes)
        return buffer
      }
      try {
        await cluster(cloud(rows), { ...CLOSURES, start: 'random', device: open })
      } finally {
        await open.close()
      }
      return peak
    }
    const small = { ...BASE, limits: limited }
    const [few, many] = [await most(400, small), await most(3200, small)]
    expect(many).toBeLessThan(few * 1.05)
    expect(await most(3200, { ...BASE, limits })).toBeGreaterThan(1.5 * many)
  })

  test('each row is read once in a round', async () => {
    const reads: [number, number][] = []
    const rows = 600
    const source = counted(cloud(rows), reads)
    const steps = clusterSteps(source, {
      ...{ k: 12, method: 'lloyd', start: 'random', relocate: false, tolerance: 0 },
      device: { ...BASE, limits: limited },
    })
    const after: number[] = []
    for (let round = 1; round <= 6; round++) {
      await steps.next()
      after.push(reads.reduce((sum, [start, end]) => sum + end - start, 0))
    }
    // A part that is read ahead belongs to the next round.
    expect(Math.abs(after[5] - after[1] - 4 * rows)).toBeLessThanOrEqual(PART_ROWS)
    await steps.return(undefined as never)
  })

  test.each(['stopped', 'left', 'failing'] as const)('a run that is %s closes its temporary file', async (how) => {
    const seen = watchScratch()
    const control = new AbortController()
    const vectors = cloud(600)
    let reads = 0
    const source: VectorSource = {
      ...counted(vectors, []),
      async read(start, end) {
        if (how === 'failing' && ++reads > 30) throw new Error('the disk is gone')
        return vectors.data.slice(start * COLS, end * COLS)
      },
    }
    const run = async (): Promise<number> => {
      let rounds = 0
      for await (const _step of clusterSteps(source, {
        ...{ k: 12, method: 'minibatch', batch: 16, iterations: 1000, tolerance: 0, signal: control.signal },
        device: { ...BASE, limits: limited },
      })) {
        rounds++
        if (how === 'left' && rounds === 2) break
        if (how === 'stopped' && rounds === 2) control.abort()
      }
      return rounds
    }
    if (how === 'failing') await expect(run()).rejects.toThrow('the disk is gone')
    else expect(await run()).toBe(2)
    expect(seen.opened).toBeGreaterThan(0)
    expect(seen.open).toBe(0)
  })

  test('a full disk is an error that names it, and the run leaves nothing', async () => {
    const create = platform.createScratch as NonNullable<typeof platform.createScratch>
    let closed = 0
    vi.spyOn(platform as { createScratch: typeof create }, 'createScratch').mockImplementation(async (folder) => {
      const file = await create(folder)
      return {
        read: (bytes, at) => file.read(bytes, at),
        write: async () => {
          throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
        },
        close: () => {
          closed++
          return file.close()
        },
      }
    })
    await expect(cluster(cloud(600), { ...CLOSURES, device: { ...BASE, limits: limited } })).rejects.toThrow('no space')
    expect(closed).toBeGreaterThan(0)
  })

  test('assigning and quantizing', async () => {
    const vectors = cloud(900)
    const usual = await cluster(vectors, { ...CLOSURES, device: { ...BASE, limits } })
    const assigned = await usual.assign(vectors, { device: { ...BASE, limits } })
    const codec = { type: 'pq', m: 4, codewords: 8, iterations: 4, tolerance: 0 } as const
    const trained = await trainQuantizer(vectors, { ...codec, device: { ...BASE, limits } })
    const codes = await trained.encode(vectors, { device: { ...BASE, limits } })
    const seen = watchScratch()
    expect(await usual.assign(vectors, { device: { ...BASE, limits: limited } })).toEqual(assigned)
    const again = await trainQuantizer(vectors, { ...codec, device: { ...BASE, limits: limited } })
    expect(again.facts.iterations.map(({ distortion }) => distortion)).toEqual(
      trained.facts.iterations.map(({ distortion }) => distortion),
    )
    expect(await again.encode(vectors, { device: { ...BASE, limits: limited } })).toEqual(codes)
    expect(seen.opened).toBeGreaterThan(1)
    expect(seen.open).toBe(0)
  })

  test('of very many clusters no exact sums are kept: the same bits where sums of floats are exact', async () => {
    const bytes = matrix(
      Uint8Array.from(cloud(900).data, (value) => Math.max(0, Math.min(255, 60 + 9 * value))),
      900,
      COLS,
    )
    const parts = { partBytes: PART_ROWS * COLS }
    const labelsOfBuffers = async (more: object) => {
      const device = await openDevice({ ...BASE, limits: { ...parts, ...more } })
      const seen = new Set<string>()
      const allocate = device.allocate.bind(device)
      device.allocate = (size, label) => {
        seen.add(label)
        return allocate(size, label)
      }
      try {
        const { labels, centers, distortion } = await cluster(bytes, { ...CLOSURES, relocate: true, device })
        return { seen, model: { labels, centers, distortion } }
      } finally {
        await device.close()
      }
    }
    const exact = await labelsOfBuffers({})
    const plain = await labelsOfBuffers({ bufferBytes: 4096 })
    expect([exact.seen.has('exact sums'), plain.seen.has('exact sums')]).toEqual([true, false])
    expect(plain.model).toEqual(exact.model)
  })
})
