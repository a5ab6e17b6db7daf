/**
 * This build against another one, round by round in one run, so that noise of the machine hits both alike.
 *
 *   npm run bench -- builds --other ../before/dist/index.js [--data vectors.bvecs] [--rounds 5]
 *
 * Each case runs alternately on both builds; the table shows the median of the per-round ratios of seconds. Where the
 * results should not have changed, it also says whether they are the same bits.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import * as own from '../src/index.ts'
import { keepResults, median, printTable } from './table.ts'

type Library = typeof own

const { values: options } = parseArgs({
  options: {
    other: { type: 'string' },
    data: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
})
if (!options.other) {
  console.error('Which build to compare with? npm run bench -- builds --other ../before/dist/index.js')
  process.exit(2)
}
const other = (await import(pathToFileURL(resolve(options.other)).href)) as Library
const rounds = Number(options.rounds)
const vectors = options.data
  ? await own.readVectors(options.data)
  : own.blobs({ rows: 50_000, cols: 64, clusters: 500, seed: 1 }).vectors
const { rows, cols } = vectors
const part = own.matrix(vectors.data.subarray(0, Math.min(20_000, rows) * cols), Math.min(20_000, rows), cols)

interface Case {
  readonly name: string
  /** Returns numbers that identify the result. */
  run(library: Library, device: own.Device): Promise<ArrayLike<number>>
}

const clusterCase = (method: own.MethodName, k: number, iterations: number, from = vectors): Case => ({
  name: `${method}, ${from.rows} vectors, k = ${k}, ${iterations} rounds`,
  run: async (library, device) =>
    (await library.cluster(from, { k, method, iterations, tolerance: 0, seed: 1, device })).centers.data,
})

const cases: readonly Case[] = [
  {
    name: 'lloyd, 200 points in 2 dimensions, k = 5, 100 runs',
    async run(library, device) {
      const small = library.blobs({ rows: 200, cols: 2, clusters: 5, seed: 3 }).vectors
      let centers: ArrayLike<number> = []
      for (let i = 0; i < 100; i++) centers = (await library.cluster(small, { k: 5, device })).centers.data
      return centers
    },
  },
  clusterCase('lloyd', 256, 10),
  clusterCase('closures', 2000, 20),
  clusterCase('closures-sharp', 2000, 20),
  clusterCase('closures-sharp', 10_000, 10),
  clusterCase('rakm', 1000, 5, part),
  clusterCase('hkm', 1000, 1, part),
  clusterCase('minibatch', 256, 2, part),
  clusterCase('gmm', 64, 5, part),
  {
    name: `trainQuantizer ck and encode, ${part.rows} vectors, 5 rounds`,
    async run(library, device) {
      const quantizer = await library.trainQuantizer(part, { type: 'ck', m: 8, iterations: 5, seed: 1, device })
      return (await quantizer.encode(vectors, { device })).data
    },
  },
  {
    name: `nearest, ${part.rows} vectors, 1,000 centres`,
    async run(library, device) {
      const centers = library.matrix(part.data.subarray(0, 1000 * cols), 1000, cols)
      return (await library.nearest(part, centers, { device })).distances
    },
  },
]

const results: { name: string; ratios: number[]; ownSeconds: number; otherSeconds: number; same: boolean }[] = []
const devices = { own: await own.openDevice({ kind: 'cpu' }), other: await other.openDevice({ kind: 'cpu' }) }
try {
  for (const entry of cases) results.push(await compare(entry))
} finally {
  await devices.own.close()
  await devices.other.close()
}
printTable(
  `This build against the other, ${rows} x ${cols}, ${rounds} alternating rounds`,
  results.map(({ name, ratios, ownSeconds, otherSeconds, same }) => ({
    case: name,
    'this, s': ownSeconds,
    'other, s': otherSeconds,
    'median ratio': median(ratios),
    'lowest ratio': Math.min(...ratios),
    'highest ratio': Math.max(...ratios),
    result: same ? 'same bits' : 'differs',
  })),
)
keepResults('builds', { rows, cols, rounds, results })

async function compare({ name, run }: Case) {
  const seconds = async (library: Library, device: own.Device) => {
    const began = performance.now()
    const result = await run(library, device)
    return { seconds: (performance.now() - began) / 1000, result }
  }
  const pairs: { own: number; other: number }[] = []
  let same = true
  // The first round warms both up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    // Who begins alternates, so that neither always finds the caches warm.
    const first = round % 2 === 0
    const before = first ? await seconds(other, devices.other) : undefined
    const mine = await seconds(own, devices.own)
    const theirs = before ?? (await seconds(other, devices.other))
    same &&= sameNumbers(mine.result, theirs.result)
    if (round > 0) pairs.push({ own: mine.seconds, other: theirs.seconds })
  }
  return {
    name,
    ratios: pairs.map((pair) => pair.own / pair.other),
    ownSeconds: median(pairs.map((pair) => pair.own)),
    otherSeconds: median(pairs.map((pair) => pair.other)),
    same,
  }
}

function sameNumbers(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}
