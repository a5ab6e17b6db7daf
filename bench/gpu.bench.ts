/**
 * Every kernel on this machine's GPU:
 *
 *   npm run bench -- gpu [--rows 262144] [--cols 128] [--clusters 1024] [--only TEXT]
 *
 * Calls of the library run on a device that times each kernel by itself. GFLOP/s follow from the operations a kernel
 * states, GB/s from the bytes of its buffers, and both are compared with the adapter's peak, as measured by two calibration
 * kernels; "-" where a dispatch takes too little time to be timed. The same calls run on the CPU device; exact assignment
 * is also compared with TensorFlow.js on the same adapter. Prints tables and writes bench/results/gpu.json, gpu.svg and
 * gpu.html. The default sizes follow from the measured peak: 262,144 points and 1,024 clusters on a GPU, less on a software
 * adapter, so that it takes minutes there, too.
 */
import { parseArgs } from 'node:util'
import { blobs, type Device, matrix, nearest, openDevice } from '../src/index.ts'
import { measurePeak, type Peak } from './gpu/calibration.ts'
import { type Bar, barChart, type Card, speedChart, writePage } from './gpu/page.ts'
import { clustersFor, kernelRates, sizesFor, workMilliseconds } from './gpu/rates.ts'
import { type KernelTimes, timedDevice } from './gpu/timed-device.ts'
import { type Sizes, type Workload, workloads } from './gpu/workloads.ts'
import { PEERS_HINT } from './peers.ts'
import { tensorflowAssign } from './peers-tensorflow.ts'
import { type Cell, fastest, keepResults, printTable, readable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string' },
    cols: { type: 'string', default: '128' },
    clusters: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})

/** On a GPU. */
const USUAL = { rows: 262_144, k: 1024 }

const gpu = await openDevice({ kind: 'webgpu' })
const { name: adapter, software } = gpu.info
const peak = await measurePeak(gpu)
const sizes = chooseSizes(peak.gflops)
const size = `${sizes.rows.toLocaleString('en')} x ${sizes.cols}, k = ${sizes.k.toLocaleString('en')}`
const started = performance.now()
console.log(
  `${adapter}: ${peak.gflops.toPrecision(3)} GFLOP/s of multiply-adds, ${peak.gigabytes.toPrecision(3)} GB/s, ` +
    `${(peak.overheadSeconds * 1e3).toPrecision(2)} ms for a submit and its wait. Data: ${size}${scaled()}.`,
)

/** Says that sizes were chosen by the speed of the adapter, where they were. */
function scaled(): string {
  if (flags.rows !== undefined || sizes.rows === USUAL.rows) return ''
  return `, scaled by the speed of this adapter (usual on a GPU: ${USUAL.rows.toLocaleString('en')} rows, k = ${USUAL.k.toLocaleString('en')})`
}

function chooseSizes(gflops: number): Sizes {
  const rows = Number(flags.rows ?? sizesFor(gflops, 128, USUAL).rows)
  return { rows, cols: Number(flags.cols), k: Number(flags.clusters ?? clustersFor(rows, USUAL.k)) }
}

const NOTES = {
  assignment:
    'Nearest of all centres, host memory to host memory. TensorFlow.js has its tensors on the device already.',
  shares:
    'The larger of the shares of arithmetic and of bandwidth, for the largest call of each kernel. Both peaks are measured by calibration kernels: multiply-adds in registers, and copying memory. Data that fits a cache is read faster than that.',
  kernels:
    'From "M operations" on, the largest call. Operations are those that kernels state, which are estimates; bytes are those of their buffers, each counted once in a call. "-": too short to be timed.',
  works: 'Milliseconds of all calls. "-": the CPU device does it in other work.',
}

const choose = (of: Sizes): Workload[] => workloads(of).filter(({ name }) => name.includes(flags.only))
const failures: Record<string, string> = {}
// Drivers finish compiling at the first dispatch; a small run takes that out of the times.
await timeAll(gpu, choose({ rows: Math.min(512, sizes.rows), cols: sizes.cols, k: Math.min(16, sizes.k) }), 0)
const chosen = choose(sizes)
const onGpu = await timeAll(gpu, chosen, peak.overheadSeconds)
const cpu = await openDevice({ kind: 'cpu' })
const onCpu = await timeAll(cpu, chosen, 0)
const assignment = await compareAssign(gpu, cpu)
// Whatever disturbed one measurement of the peak hardly disturbed the other.
const again = await measurePeak(gpu)
await gpu.close()
await cpu.close()
report({
  gflops: Math.max(peak.gflops, again.gflops),
  gigabytes: Math.max(peak.gigabytes, again.gigabytes),
  overheadSeconds: Math.min(peak.overheadSeconds, again.overheadSeconds),
})

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
  const name = 'TensorFlow.js webgpu'
  try {
    const tensorflow = await tensorflowAssign(vectors, centers)
    if (tensorflow) rows.push({ name, on: tensorflow.adapter, 'GFLOP/s': gigaflops(tensorflow.seconds) })
  } catch (error) {
    failures[name] = (error as Error).message.split('\n')[0]
  }
  return rows
}

function report(measured: Peak): void {
  const { gflops, gigabytes } = measured
  const kernels = kernelRates(onGpu, measured)
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
    kernels: 'Kernels',
    works: 'The same work on both devices',
    assignment: `Exact assignment, ${size}`,
  }
  printTable(`${titles.kernels}; from "M operations" on: the largest call`, rows)
  printTable(titles.works, works)
  printTable(titles.assignment, assignment)
  console.log(`\n${PEERS_HINT}`)
  for (const [name, message] of Object.entries(failures)) console.log(`Failed: ${name}: ${message}`)
  writePage('gpu', {
    title: adapter,
    subtitle: `centroidal on ${software ? 'a software adapter' : 'this GPU'}: every kernel, ${size}${scaled()}`,
    cards: cards(gflops, gigabytes),
    charts: [
      { file: 'gpu-assign', title: titles.assignment, svg: speedChart(assignment as never), note: NOTES.assignment },
      { file: 'gpu', title: 'Share of the measured peak', svg: barChart(bars), note: NOTES.shares },
    ],
    tables: [
      { title: titles.kernels, rows, note: NOTES.kernels },
      { title: titles.works, rows: works, note: NOTES.works },
    ],
    failures,
  })
  keepResults('gpu', { adapter, software, sizes, peak: measured, kernels, works, assignment, failures })
  const minutes = (performance.now() - started) / 60_000
  console.log(`To share: bench/results/gpu.html (${minutes.toFixed(1)} minutes)`)
}

/** The figures at the top of the page. */
function cards(gflops: number, gigabytes: number): Card[] {
  const speed = (name: string): number | undefined =>
    assignment.find((row) => row.name === name)?.['GFLOP/s'] as number | undefined
  const [ours, cpuSpeed, theirs] = ['centroidal webgpu', 'centroidal cpu', 'TensorFlow.js webgpu'].map(speed)
  const over = (one: number | undefined, other: number | undefined): string | undefined =>
    one && other ? `${(one / other).toPrecision(2)} x` : undefined
  const found: [string, string | undefined][] = [
    ['multiply-adds, peak', `${readable(gflops)} GFLOP/s`],
    ['memory, peak', `${readable(gigabytes)} GB/s`],
    ['exact assignment', ours && `${readable(ours)} GFLOP/s`],
    ['the speed of the CPU device', over(ours, cpuSpeed)],
    ['the speed of TensorFlow.js', over(ours, theirs)],
  ].map(([label, value]) => [label as string, value as string | undefined])
  return found.flatMap(([label, value]) => (value ? [{ label, value }] : []))
}

function compareWorks(): Record<string, Cell>[] {
  const cpuTimes = workMilliseconds(onCpu)
  return [...workMilliseconds(onGpu)]
    .map(([work, gpu]) => ({ work, gpu, cpu: cpuTimes.get(work) ?? 0 }))
    .sort((a, b) => b.gpu - a.gpu)
    .map(({ work, gpu, cpu }) => ({ work, 'GPU ms': gpu, 'CPU ms': cpu || '-', 'CPU over GPU': cpu ? cpu / gpu : '-' }))
}

/** The highest bar of each kernel. */
function best(bars: readonly Bar[]): Bar[] {
  const highest = new Map<string, Bar>()
  for (const bar of bars) if (bar.share > (highest.get(bar.kernel)?.share ?? -1)) highest.set(bar.kernel, bar)
  return [...highest.values()]
}
