/**
 * Every form of the kernels that have several, on this machine's WebGPU adapter: what tuning sees, and what it takes.
 *
 *   npm run bench -- forms [--rows 1024] [--cols 64] [--clusters 64] [--only kernels|calls]
 *
 * Only forms that give the same bits as the default one are exchanged; of the others, the table shows what they would
 * gain. The second table compares kernels that have one form for hardware and another for software adapters, in calls of
 * the library. On a software adapter times are processor time, which other programs disturb less. Another adapter is
 * chosen by VK_ICD_FILENAMES, such as lavapipe's.
 */
import { parseArgs } from 'node:util'
import { type Device, openDevice, type Tuning, tune } from '../src/index.ts'
import { type KernelTimes, timedDevice } from './gpu/timed-device.ts'
import { type Sizes, workloads } from './gpu/workloads.ts'
import { type Cell, keepResults, median, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '1024' },
    cols: { type: 'string', default: '64' },
    clusters: { type: 'string', default: '64' },
    only: { type: 'string', default: '' },
  },
})
const sizes: Sizes = { rows: Number(flags.rows), cols: Number(flags.cols), k: Number(flags.clusters) }

const TURNS = 3
/** Calls that run the kernels with two forms between them. */
const CALLS = [
  'lloyd',
  'sharp',
  'closures-sharp',
  'nearest 10',
  'partition trees',
  'quantizer pq',
  'inverted file',
  'lloyd, sparse',
  'sharp, sparse',
]

const first = await openClocked({ tune: false })
const { adapter, results: kernels } = await compareKernels(first)
const calls = flags.only === 'kernels' ? [] : await compareCalls(first.info.software)
keepResults('forms', { adapter, sizes, ...kernels, calls })

/** A software adapter works with the processor, so its clock is the processor time of this process. */
async function openClocked(options: { readonly tune?: boolean; readonly tiled?: boolean }): Promise<Device> {
  const device = await openDevice({ kind: 'webgpu', ...options })
  if (!device.info.software) return device
  const gpuSeconds = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1e6
  }
  return Object.assign(device, { gpuSeconds })
}

async function compareKernels(device: Device): Promise<{ adapter: string; results: object }> {
  if (flags.only === 'calls') {
    await device.close()
    return { adapter: device.info.name, results: {} }
  }
  const began = performance.now()
  const automatic = await tune({ device })
  const automaticSeconds = (performance.now() - began) / 1000
  const found = withFirst(await tune({ device, all: true }), automatic)
  await device.close()
  printTable(`Forms of kernels, ${found.adapter}`, formRows(found))
  const { exact, closures } = found.speed
  printTable('Speeds that auto goes by', [
    { 'exact GFLOP/s': exact.gflops, 'closures-sharp': closures.gflops, 'seconds to tune': automaticSeconds },
  ])
  return { adapter: found.adapter, results: { ...found, automatic: { forms: automatic.forms, automaticSeconds } } }
}

/** Forms were compiled when they were timed for the first time. */
function withFirst(found: Tuning, before: Tuning): Tuning {
  const timings = found.timings.map((timing) => {
    const { kernel, shape, form } = timing
    const first = before.timings.find((one) => one.kernel === kernel && one.shape === shape && one.form === form)
    return first ? { ...timing, firstSeconds: first.firstSeconds } : timing
  })
  return { ...found, timings }
}

function formRows({ forms, timings }: Tuning): Record<string, Cell>[] {
  const formOf = (kernel: string, shape: string): unknown => {
    const narrow = forms.narrow as Readonly<Record<string, string>> | undefined
    return (shape === 'narrow' ? narrow?.[kernel] : undefined) ?? forms[kernel]
  }
  return timings.map(({ kernel, shape, form, seconds, firstSeconds, gflops, exchangeable }) => {
    const rivals = timings.filter((other) => other.kernel === kernel && other.shape === shape)
    const [standard] = rivals
    const alone = rivals.filter((other) => other.exchangeable).length === 1
    const taken = exchangeable && (alone || formOf(kernel, shape) === form)
    return {
      kernel,
      rows: shape,
      form,
      'first ms': firstSeconds * 1e3,
      ms: seconds * 1e3,
      'GFLOP/s': gflops,
      'of the default': gflops / standard.gflops,
      bits: exchangeable ? 'same' : 'other',
      taken: taken ? 'yes' : '',
    }
  })
}

/** All kernels without tiles, and all with tiles. Both devices take turns. */
async function compareCalls(software: boolean): Promise<Record<string, Cell>[]> {
  const devices = await Promise.all([openClocked({ tiled: false }), openClocked({ tiled: true })])
  const chosen = workloads(sizes).filter(({ name }) => CALLS.includes(name))
  const rows: Record<string, Cell>[] = []
  for (const { name, run } of chosen) {
    const turns: Map<string, number>[][] = [[], []]
    for (let turn = -1; turn < TURNS; turn++) {
      for (const [i, device] of devices.entries()) {
        process.stderr.write(`\r\x1b[K${name}, ${i === 0 ? 'without tiles' : 'in tiles'}`)
        const timed = await timedDevice(device, 0)
        await run(timed)
        // The first turn compiles.
        if (turn >= 0) turns[i].push(secondsByWork([...timed.times.values()]))
      }
    }
    for (const work of turns[0][0].keys()) {
      const [plain, tiled] = turns.map((list) => 1e3 * median(list.map((times) => times.get(work) ?? 0)))
      if (tiled === 0) continue
      const used = software ? plain : tiled
      const other = software ? tiled : plain
      rows.push({ call: name, work, 'ms without tiles': plain, 'ms in tiles': tiled, 'other over used': other / used })
    }
  }
  process.stderr.write('\r\x1b[K')
  for (const device of devices) await device.close()
  printTable(
    `Work without tiles (software adapters) and in tiles (hardware); used here: ${software ? 'without' : 'in'} tiles`,
    rows,
  )
  return rows
}

function secondsByWork(times: readonly KernelTimes[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { work, seconds } of times) sums.set(work, (sums.get(work) ?? 0) + seconds)
  return sums
}
