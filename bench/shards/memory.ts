/** One run over many vectors that are made as they are read, with some memory for them on the device. */
import { resourceUsage } from 'node:process'
import { cluster, createRandom, openDevice, type VectorSource } from '../../src/index.ts'

const COLS = 128
const K = 1000
const ROUNDS = 3
/** Vectors lie about this many places. */
const PLACES = 5000

export interface MemoryUse {
  readonly rows: number
  readonly k: number
  readonly rounds: number
  readonly shards: number
  readonly memoryBytes: number | null
  readonly secondsPerRound: number
  readonly deviceBytes: number
  readonly processBytes: number
  readonly distortion: number
}

export async function measureMemory(rows: number, memoryBytes: number): Promise<MemoryUse> {
  const device = await openDevice({ kind: 'cpu', memoryBytes: Math.min(memoryBytes, 2 ** 52) })
  let deviceBytes = 0
  const watch = (): void => {
    deviceBytes = Math.max(deviceBytes, device.allocatedBytes)
  }
  const timer = setInterval(watch, 50)
  try {
    const model = await cluster(madeVectors(rows), {
      k: K,
      method: 'closures-sharp',
      iterations: ROUNDS,
      tolerance: 0,
      start: 'random',
      relocate: false,
      seed: 1,
      device,
      onProgress: watch,
    })
    const { iterations } = model.facts
    const [first, last] = [iterations[0], iterations[iterations.length - 1]]
    return {
      rows,
      k: K,
      rounds: ROUNDS,
      shards: Math.ceil((rows * COLS) / device.info.limits.partBytes),
      memoryBytes: Number.isFinite(memoryBytes) ? memoryBytes : null,
      // The first round looks at every centre.
      secondsPerRound: (last.seconds - first.seconds) / (iterations.length - 1),
      deviceBytes,
      processBytes: resourceUsage().maxRSS * 1024,
      distortion: model.distortion,
    }
  } finally {
    clearInterval(timer)
    await device.close()
  }
}

/** Bytes about some places; a row depends on its number alone. */
function madeVectors(rows: number): VectorSource {
  const random = createRandom(9)
  const places = Uint8Array.from({ length: PLACES * COLS }, () => 20 + random.below(200))
  return {
    rows,
    cols: COLS,
    type: 'u8',
    name: 'made vectors',
    async read(start, end) {
      const data = new Uint8Array((end - start) * COLS)
      for (let row = start; row < end; row++) {
        let state = (row * 2654435761 + 12345) >>> 0
        const place = (state % PLACES) * COLS
        for (let j = 0; j < COLS; j++) {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0
          data[(row - start) * COLS + j] = places[place + j] + (state >>> 28) - 8
        }
      }
      return data
    },
  }
}
