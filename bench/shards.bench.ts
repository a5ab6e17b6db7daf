/**
 * What it costs to cut vectors into shards, and how much memory vectors larger than the device's memory take.
 *
 *   npm run bench -- shards [--data vectors.bvecs] [--ks 2000,10000] [--shards 1,4,16,64] [--rounds 30] [--repeats 3]
 *                           [--parts cost,memory] [--rows 10000000]
 *
 * - cost: closures-sharp with several numbers of shards, on one device, from the same seed. Runs with different numbers
 *   alternate, so that noise of the machine hits all alike; ratios are those of the medians. Without --data: made vectors.
 * - memory: --rows vectors of 128 bytes, made as they are read, clustered in 1 GB of device memory and with everything
 *   resident: seconds for each round, bytes allocated on the device at the most, and the peak memory of the process.
 */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { blobs, cluster, type Matrix, openDevice, readVectors } from '../src/index.ts'
import { measureMemory } from './shards/memory.ts'
import { keepResults, median, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    ks: { type: 'string', default: '2000,10000' },
    shards: { type: 'string', default: '1,4,16,64' },
    rounds: { type: 'string', default: '30' },
    repeats: { type: 'string', default: '3' },
    parts: { type: 'string', default: 'cost,memory' },
    rows: { type: 'string', default: '10000000' },
    seed: { type: 'string', default: '77' },
    // How this script runs itself, so that each measurement of memory has a process of its own.
    memory: { type: 'string' },
  },
})
const numbers = (list: string): number[] => list.split(',').map(Number)

if (flags.memory !== undefined) {
  console.log(JSON.stringify(await measureMemory(Number(flags.rows), Number(flags.memory))))
} else {
  const parts = flags.parts.split(',')
  keepResults('shards', {
    ...(parts.includes('cost') ? { cost: await measureCost() } : {}),
    ...(parts.includes('memory') ? { memory: compareMemory() } : {}),
  })
}

interface Cost {
  readonly k: number
  readonly shards: number
  readonly distortion: number
  /** Above that of one shard, in per cent. */
  readonly excess: number
  readonly seconds: number
  readonly ratio: number
}

async function measureCost(): Promise<readonly Cost[]> {
  const vectors: Matrix = flags.data
    ? await readVectors(flags.data)
    : blobs({ rows: 100_000, cols: 64, clusters: 3000, seed: 5 }).vectors
  const counts = numbers(flags.shards)
  const device = await openDevice({ kind: 'cpu', threads: availableParallelism() })
  const results: Cost[] = []
  try {
    for (const k of numbers(flags.ks)) {
      const seconds = counts.map((): number[] => [])
      const distortions = counts.map(() => Number.NaN)
      for (let repeat = 0; repeat < Number(flags.repeats); repeat++) {
        for (const [i, shards] of counts.entries()) {
          const began = performance.now()
          const model = await cluster(vectors, {
            k,
            method: 'closures-sharp',
            iterations: Number(flags.rounds),
            tolerance: 0,
            seed: Number(flags.seed),
            shards,
            device,
          })
          seconds[i].push((performance.now() - began) / 1000)
          distortions[i] = model.distortion
        }
      }
      const [first] = seconds.map(median)
      const rows = counts.map((shards, i) => ({
        k,
        shards,
        distortion: distortions[i],
        excess: 100 * (distortions[i] / distortions[0] - 1),
        seconds: median(seconds[i]),
        ratio: median(seconds[i]) / first,
      }))
      printTable(
        `closures-sharp, ${vectors.rows} x ${vectors.cols}, k = ${k}, ${flags.rounds} rounds`,
        rows.map(({ shards, distortion, excess, seconds: taken, ratio }) => ({
          shards,
          distortion,
          'above one shard, %': excess.toFixed(3),
          seconds: taken,
          'times one shard': ratio,
        })),
      )
      results.push(...rows)
    }
  } finally {
    await device.close()
  }
  return results
}

function compareMemory(): object {
  const script = fileURLToPath(import.meta.url)
  const rows = [1e9, Number.POSITIVE_INFINITY].map((bytes) => {
    const args = [script, '--rows', flags.rows, '--memory', String(bytes)]
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return JSON.parse(stdout) as Awaited<ReturnType<typeof measureMemory>>
  })
  printTable(
    `closures-sharp, ${rows[0].rows} x 128 bytes, k = ${rows[0].k}, ${rows[0].rounds} rounds`,
    rows.map((row) => ({
      'device memory': Number.isFinite(row.memoryBytes ?? Number.NaN) ? '1 GB' : 'resident',
      shards: row.shards,
      'seconds per round': row.secondsPerRound,
      'device, MB at most': Math.round(row.deviceBytes / 1e6),
      'process, MB at most': Math.round(row.processBytes / 1e6),
      distortion: row.distortion,
    })),
  )
  return rows
}
