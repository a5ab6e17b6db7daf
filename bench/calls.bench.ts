/**
 * What a call costs that names no device: the first one, those that follow, and what stays behind.
 *
 *   npm run bench -- calls [--calls 100] [--rows 200] [--cols 2] [--device auto]
 *
 * Each row is a process of its own that makes the same call again and again, with the vectors in memory. `first` is its
 * first call, `later` the median of the others. Threads and memory (resident, MB) are those of the process before the first
 * call, after the last one, and once the device has been idle long enough to be closed. `exit` is the time from the end of
 * the last call to the end of the process, which nobody asks to end. `own device` opens and closes a device for each call.
 */
import { fork } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { blobs, cluster, type DeviceOptions, type Matrix, nearest, openDevice, trainQuantizer } from '../src/index.ts'
import { keepResults, median, printTable } from './table.ts'

/** Longer than an idle device stays open. */
const IDLE_MS = 6000

type DeviceChoice = NonNullable<Parameters<typeof nearest>[2]>['device']

const CALLS: Record<string, (vectors: Matrix, device: DeviceChoice) => Promise<unknown>> = {
  cluster: (vectors, device) => cluster(vectors, { k: 4, seed: 1, ...(device && { device }) }),
  nearest: (vectors, device) => nearest(vectors, vectors, { m: 5, ...(device && { device }) }),
  quantizer: (vectors, device) =>
    trainQuantizer(vectors, { type: 'pq', m: 1, codewords: 16, ...(device && { device }) }),
}

interface Task {
  readonly call: string
  readonly own: boolean
  /** Stays after the last call until the device is closed, instead of ending. */
  readonly stays: boolean
  readonly calls: number
  readonly rows: number
  readonly cols: number
  readonly device: 'auto' | 'webgpu' | 'cpu'
}

interface Footprint {
  readonly threads: number
  readonly megabytes: number
}

interface Answer {
  readonly milliseconds: readonly number[]
  readonly before: Footprint
  readonly after: Footprint
  readonly idle: Footprint | undefined
}

const { values: flags } = parseArgs({
  options: {
    calls: { type: 'string', default: '100' },
    rows: { type: 'string', default: '200' },
    cols: { type: 'string', default: '2' },
    device: { type: 'string', default: 'auto' },
    // The benchmark's own: what a process of it does.
    task: { type: 'string' },
  },
})
if (flags.task) await answer(JSON.parse(flags.task))
else await compare()

async function compare(): Promise<void> {
  const { calls, rows, cols, device } = flags
  const shape = { calls: Number(calls), rows: Number(rows), cols: Number(cols), device: device as Task['device'] }
  const table = []
  for (const own of [false, true]) {
    for (const call of Object.keys(CALLS)) {
      const run = await inProcess({ ...shape, call, own, stays: false })
      const { idle } = (await inProcess({ ...shape, call, own, stays: true })).answer
      const [first, ...later] = run.answer.milliseconds
      table.push({
        call: own ? `${call}, own device` : call,
        'first ms': first,
        'later ms': median(later),
        'total ms': run.answer.milliseconds.reduce((sum, ms) => sum + ms, 0),
        'threads before': run.answer.before.threads,
        after: run.answer.after.threads,
        idle: idle?.threads ?? '-',
        'MB before': run.answer.before.megabytes,
        'MB after': run.answer.after.megabytes,
        'MB idle': idle?.megabytes ?? '-',
        'exit ms': run.exitMs,
        'exit code': run.code ?? 'killed',
        'bytes on stderr': run.stderrBytes,
      })
    }
  }
  printTable(`${calls} calls, ${rows} x ${cols}, device ${device}`, table)
  keepResults('calls', { ...shape, table })
}

interface Run {
  readonly answer: Answer
  readonly exitMs: number
  readonly code: number | null
  /** What the process, its libraries and drivers wrote there. */
  readonly stderrBytes: number
}

function inProcess(task: Task): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1], ['--task', JSON.stringify(task)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    let found: { answer: Answer; at: number } | undefined
    let stderrBytes = 0
    child.stderr?.on('data', (bytes: Uint8Array) => {
      stderrBytes += bytes.length
    })
    child.once('message', (answer) => {
      found = { answer: answer as Answer, at: performance.now() }
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (found === undefined) reject(new Error(`${task.call} ended with code ${code}.`))
      else resolve({ answer: found.answer, exitMs: performance.now() - found.at, code, stderrBytes })
    })
  })
}

async function answer({ call, own, stays, calls, rows, cols, device }: Task): Promise<void> {
  const { vectors } = blobs({ rows, cols, clusters: 4, seed: 1 })
  const options: DeviceOptions = { kind: device }
  const shared = device === 'auto' ? undefined : options
  const once = own
    ? async () => {
        const opened = await openDevice(options)
        await CALLS[call](vectors, opened)
        await opened.close()
      }
    : () => CALLS[call](vectors, shared)
  const before = footprint()
  const milliseconds: number[] = []
  for (let i = 0; i < calls; i++) {
    const began = performance.now()
    await once()
    milliseconds.push(performance.now() - began)
  }
  const after = footprint()
  if (stays) await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const told: Answer = { milliseconds, before, after, idle: stays ? footprint() : undefined }
  // The channel to the parent would hold the process.
  process.send?.(told, () => process.disconnect?.())
}

function footprint(): Footprint {
  return { threads: countThreads(), megabytes: process.memoryUsage.rss() / 1e6 }
}

/** As Linux counts them; 0 elsewhere. */
function countThreads(): number {
  try {
    return readdirSync('/proc/self/task').length
  } catch {
    return 0
  }
}
