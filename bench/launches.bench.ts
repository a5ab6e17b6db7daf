/**
 * What a round asks of a GPU: submits, dispatches and readbacks, counted at any size on any adapter.
 *
 *   npm run bench -- launches [--rows 1000000] [--cols 128] [--clusters 10000] [--methods lloyd,closures-sharp] [--rounds 7]
 *
 * The library runs as on a hardware GPU, but no dispatch is executed, so that the counts of a million points take seconds on a
 * software adapter. As nothing takes time, submits are as few as they can be: on a GPU, work of more than about a tenth of a
 * second is cut. Every round is shown, because rounds of closures take more trees at first.
 */
import { parseArgs } from 'node:util'
import { type ClusterOptions, clusterSteps, type Device, type MethodName, matrix, openDevice } from '../src/index.ts'
import { executeNothing, readChangingNumbers } from './gpu/idle.ts'
import { keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    cols: { type: 'string', default: '128' },
    clusters: { type: 'string', default: '10000' },
    methods: { type: 'string', default: 'lloyd,closures-sharp' },
    rounds: { type: 'string', default: '7' },
  },
})
const [rows, cols, k, iterations] = [flags.rows, flags.cols, flags.clusters, flags.rounds].map(Number)

type Counts = Record<'submits' | 'dispatches' | 'readbacks', number>

/** Bytes that look random: no two rows are alike. */
function vectors() {
  const data = new Uint8Array(rows * cols)
  for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 2654435761) >>> 24
  return matrix(data, rows, cols)
}

async function openIdle(): Promise<Device> {
  const { globals } = (await import('webgpu')) as unknown as { globals: { GPUAdapter: { prototype: GPUAdapter } } }
  const { prototype } = globals.GPUAdapter
  const request = prototype.requestDevice
  prototype.requestDevice = async function (this: GPUAdapter, descriptor?: GPUDeviceDescriptor) {
    const gpu = await request.call(this, descriptor)
    executeNothing(gpu)
    readChangingNumbers(gpu)
    return gpu
  }
  try {
    return await openDevice({ kind: 'webgpu', tiled: true, tune: false })
  } finally {
    prototype.requestDevice = request
  }
}

const counts = (device: Device): Counts => ({ submits: 0, dispatches: 0, readbacks: 0, ...device.launches })

const points = vectors()
const results: Record<string, (Counts & { round: number })[]> = {}
let adapter = ''
for (const method of flags.methods.split(',') as MethodName[]) {
  const device = await openIdle()
  adapter = device.info.name
  const options: ClusterOptions = {
    k,
    method,
    iterations,
    start: 'random',
    tolerance: 0,
    relocate: false,
    empty: 'keep',
    seed: 1,
  }
  const list: (Counts & { round: number })[] = []
  let before = counts(device)
  for await (const _ of clusterSteps(points, { ...options, device })) {
    const now = counts(device)
    list.push({
      round: list.length + 1,
      submits: now.submits - before.submits,
      dispatches: now.dispatches - before.dispatches,
      readbacks: now.readbacks - before.readbacks,
    })
    before = now
  }
  await device.close()
  results[method] = list
  printTable(`${method}, ${rows.toLocaleString('en')} x ${cols}, k = ${k.toLocaleString('en')}`, list)
}
console.log('\nThe first round contains loading, the start and preparations.')
keepResults('launches', { adapter, rows, cols, k, rounds: results })
