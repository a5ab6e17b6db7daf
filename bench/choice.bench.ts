/**
 * What `method: 'auto'` goes by: rounds of lloyd and closures-sharp, measured, against the model it chooses with.
 *
 *   npm run bench -- choice [--device cpu] [--rows 20000]
 *
 * The model takes the speed of exact assignment as it is measured here, and beside it the class of speed that `auto` goes by
 * (`centroidal tune` measures it; until then it is assumed). Rounds are timed by the processor time of the process on the CPU device, divided by its threads, so that other programs
 * disturb little; on a GPU by the clock.
 */
import { parseArgs } from 'node:util'
import { blobs, cluster, matrix, nearest, openDevice } from '../src/index.ts'
import { keepResults, median, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: { device: { type: 'string', default: 'cpu' }, rows: { type: 'string', default: '20000' } },
})
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const { name, speed } = device.info
const n = Number(flags.rows)
const threads = Number(/(\d+) threads/.exec(name)?.[1] ?? 1)

/** Seconds spent so far. */
function clock(): number {
  if (device.info.kind === 'webgpu') return performance.now() / 1000
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 / threads
}

/** As in src/clustering/method-choice.ts. */
const modelled = (d: number, k: number) => ({
  lloyd: 1.7 * k * (d + 24) + 7000 + 180 * d,
  closures: 40_000 + 450 * d,
})

/** GFLOP/s of exact assignment, by the same clock. */
async function measuredSpeed(): Promise<number> {
  const [points, centers, d] = [8192, 1024, 128]
  const { vectors } = blobs({ rows: points, cols: d, clusters: 64, seed: 5 })
  const to = matrix(vectors.data.slice(0, centers * d), centers, d)
  const times: number[] = []
  for (let turn = 0; turn < 6; turn++) {
    const began = clock()
    await nearest(vectors, to, { device })
    // The first one starts threads.
    if (turn > 0) times.push(clock() - began)
  }
  return (2 * points * centers * d) / median(times) / 1e9
}
const exact = await measuredSpeed()

const rows: Record<string, string | number>[] = []
for (const [d, k] of [
  [8, 512],
  [32, 128],
  [32, 512],
  [32, 2048],
  [128, 128],
  [128, 512],
  [128, 2048],
]) {
  const { vectors } = blobs({ rows: n, cols: d, clusters: Math.ceil(k / 4), seed: 5 })
  const auto = await cluster(vectors, { k, seed: 1, iterations: 1, device })
  const found: Record<string, { rounds: number; each: number; distortion: number }> = {}
  for (const method of ['lloyd', 'closures-sharp'] as const) {
    let first: number | undefined
    const model = await cluster(vectors, { k, method, device, seed: 1, onIteration: () => (first ??= clock()) })
    const { iterations } = model.facts
    const each = (clock() - (first as number)) / Math.max(1, iterations.length - 1)
    found[method] = { rounds: iterations.length, each, distortion: iterations[iterations.length - 1].distortion }
  }
  const perPoint = modelled(d, k)
  const { lloyd, 'closures-sharp': closures } = found
  rows.push({
    d,
    k,
    'lloyd ms': lloyd.each * 1e3,
    'by the model': (n * perPoint.lloyd) / exact / 1e6,
    'closures-sharp ms': closures.each * 1e3,
    'model, too': (n * perPoint.closures) / ((exact * speed.closures.gflops) / speed.exact.gflops) / 1e6,
    'rounds of lloyd': lloyd.rounds,
    'of closures-sharp': closures.rounds,
    'distortion of lloyd': lloyd.distortion,
    'that of closures-sharp': closures.distortion,
    auto: auto.facts.method,
  })
}
await device.close()
printTable(`A round over ${n.toLocaleString('en')} points, ${name}`, rows)
const { gflops, source } = speed.exact
console.log(`Exact assignment: ${exact.toPrecision(3)} GFLOP/s here; auto goes by ${gflops} GFLOP/s, ${source}.`)
keepResults('choice', { device: name, speed, exact, n, rows })
