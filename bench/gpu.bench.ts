/**
 * Every kernel on this machine's GPU:
 *
 *   npm run bench -- gpu [--rows 262144] [--cols 128] [--clusters 1024] [--only TEXT]
 *
 * Calls of the library run on a device that times each kernel by itself. GFLOP/s follow from the operations a kernel
 * states, GB/s from the bytes of its buffers, and both are compared with the adapter's peak, as measured by two calibration
 * kernels; "-" where a dispatch takes less time than a submit and its wait. The same calls run on the CPU device; exact assignment is also compared with TensorFlow.js on the same adapter.
 * Prints tables and writes bench/results/gpu.json, gpu.svg and gpu.html. A software adapter gets smaller sizes by default.
 */
import { parseArgs } from 'node:util'
import { blobs, type Device, matrix, nearest, openDevice } from '../src/index.ts'
import { measurePeak, type Peak } from './gpu/calibration.ts'
import { type Bar, barChart, writePage } from './gpu/page.ts'
import { type KernelTimes, timedDevice } from './gpu/timed-device.ts'
import { type Sizes, type Workload, workloads } from './gpu/workloads.ts'
import { PEERS_HINT } from './peers.ts'
import { tensorflowAssign } from './peers-tensorflow.ts'
import { type Cell, fastest, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string' },
    cols: { type: 'string', default: '128' },
    clusters: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})

const gpu = await openDevice({ kind: 'webgpu' })
const { name: adapter, software } = gpu.info
const sizes: Sizes = {
  rows: Number(flags.rows ?? (software ? 2048 : 262_144)),
  cols: Number(flags.cols),
  k: Number(flags.clusters ?? (software ? 128 : 1024)),
}
const size = `${sizes.rows.toLocaleString('en')} x ${sizes.cols}, k = ${sizes.k.toLocaleString('en')}`
const peak = await measurePeak(gpu)
const summary =
  `${adapter}: ${peak.gflops.toPrecision(3)} GFLOP/s of multiply-adds, ${peak.gigabytes.toPrecision(3)} GB/s, ` +
  `${(peak.overheadSeconds * 1e3).toPrecision(2)} ms for a submit and its wait. Data: ${size}. Operations are those ` +
  'that kernels state, which are estimates; bytes are those of their buffers, each counted once in a call.'
console.log(summary)

const choose = (of: Sizes): Workload[] => workloads(of).filter(({ name }) => name.includes(flags.only))
const failures: Record<string, string> = {}
// Drivers finish compiling at the first dispatch; a small run takes that out of the times.
await timeAll(gpu, choose({ rows: Math.min(512, sizes.rows), cols: sizes.cols, k: Math.min(16, sizes.k) }), 0)
const chosen = choose(sizes)
const onGpu = await timeAll(gpu, chosen, peak.overheadSeconds)
const cpu = await openDevice({ kind: 'cpu' })
const onCpu = await timeAll(cpu, chosen, 0)
const assignment = await compareAssign(gpu, cpu)
await gpu.close()
await cpu.close()
report(peak)

async function timeAll(device: Device, list: readonly Workload[], overhead: number): Promise<KernelTimes[]> {
  const timed = await timedDevice(device, overhead)
  for (const { name, run } of list) {
    process.stderr.write(`\r\x1b[K${device.info.kind}: ${name}`)
    try {
      await run(timed)
    } catch (error) {
      failures[`${name} on ${device.info.kind}`] = (error as Error).message
    }
  }
  process.stderr.write('\r\x1b[K')
  return [...timed.times.values()]
}

/** Exact assignment as people would call it: host memory to host memory; TensorFlow.js with its tensors on the device. */
async function compareAssign(...devices: Device[]): Promise<Record<string, Cell>[]> {
  const { vectors } = blobs({ rows: sizes.rows, cols: sizes.cols, clusters: sizes.k, seed: 3 })
  const centers = matrix(vectors.data.slice(0, sizes.k * sizes.cols), sizes.k, sizes.cols)
  const gigaflops = (seconds: number): number => (2 * sizes.rows * sizes.k * sizes.cols) / seconds / 1e9
  const rows: Record<string, Cell>[] = []
  for (const device of devices) {
    await nearest(vectors, centers, { device })
    const seconds = await fastest(3, () => nearest(vectors, centers, { device }))
    rows.push({ name: `centroidal ${device.info.kind}`, on: device.info.name, 'GFLOP/s': gigaflops(seconds) })
  }
  const tensorflow = await tensorflowAssign(vectors, centers).catch(() => undefined)
  if (tensorflow) rows.push({ name: 'TensorFlow.js webgpu', on: adapter, 'GFLOP/s': gigaflops(tensorflow.seconds) })
  return rows
}

function report({ gflops, gigabytes }: Peak): void {
  const kernels = onGpu
    .map(({ samples: _, ...times }) => {
      const { operations, bytes, seconds } = times.largest
      const rates = { gflops: operations / seconds / 1e9, gigabytes: bytes / seconds / 1e9 }
      const shares = { arithmetic: rates.gflops / gflops, bandwidth: rates.gigabytes / gigabytes }
      return { ...times, ...(times.measurable ? { rates, shares } : {}) }
    })
    .sort((a, b) => b.seconds - a.seconds)
  const rows = kernels.map(({ kernel, work, calls, dispatches, seconds, largest, rates, shares }) => ({
    kernel,
    work,
    calls,
    dispatches,
    'ms in all': seconds * 1e3,
    'M operations': largest.operations / 1e6,
    MB: largest.bytes / 1e6,
    ms: largest.seconds * 1e3,
    'GFLOP/s': rates?.gflops ?? '-',
    'GB/s': rates?.gigabytes ?? '-',
    '% of peak': shares ? Math.max(shares.arithmetic, shares.bandwidth) * 100 : '-',
  }))
  const works = compareWorks()
  const bars = best(
    kernels.flatMap(({ kernel, shares }): Bar[] => {
      if (!shares) return []
      const { arithmetic, bandwidth } = shares
      const of = arithmetic >= bandwidth ? 'arithmetic' : 'bandwidth'
      return [{ kernel, share: Math.max(arithmetic, bandwidth), of }]
    }),
  )
  const titles = {
    kernels: 'Kernels; from "M operations" on: the largest call',
    works: 'The same work on both devices, all calls',
    assignment: `Exact assignment, ${size}`,
  }
  printTable(titles.kernels, rows)
  printTable(titles.works, works)
  printTable(titles.assignment, assignment)
  console.log(`\n${PEERS_HINT}`)
  for (const [name, message] of Object.entries(failures)) console.log(`Failed: ${name}: ${message}`)
  const tables = [
    { title: titles.assignment, rows: assignment },
    { title: titles.kernels, rows },
    { title: titles.works, rows: works },
  ]
  writePage('gpu', 'centroidal: GPU kernels', summary, barChart(bars, `% of measured peak, ${adapter}`), tables)
  keepResults('gpu', { adapter, software, sizes, peak, kernels, works, assignment, failures })
  console.log('To share: bench/results/gpu.html')
}

function compareWorks(): Record<string, Cell>[] {
  const total = (list: readonly KernelTimes[], work: string): number =>
    list.reduce((sum, times) => sum + (times.work === work ? times.seconds * 1e3 : 0), 0)
  const names = [...new Set(onGpu.map(({ work }) => work))]
  return names
    .map((work) => ({ work, gpu: total(onGpu, work), cpu: total(onCpu, work) }))
    .sort((a, b) => b.gpu - a.gpu)
    .map(({ work, gpu, cpu }) => ({ work, 'GPU ms': gpu, 'CPU ms': cpu || '-', 'CPU over GPU': cpu ? cpu / gpu : '-' }))
}

/** The highest bar of each kernel. */
function best(bars: readonly Bar[]): Bar[] {
  const highest = new Map<string, Bar>()
  for (const bar of bars) if (bar.share > (highest.get(bar.kernel)?.share ?? -1)) highest.set(bar.kernel, bar)
  return [...highest.values()]
}
