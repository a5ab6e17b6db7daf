/** Runs that are cancelled, whose callbacks throw, whose memory runs out, or whose device goes away. */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { type CentroidalError, cluster, type Device, openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import { failingDevice } from '../devices.ts'
import type { Draw } from '../draw.ts'
import { acceptError, attempt, OwnError, requireFinite, requireSame } from '../judge.ts'
import { drawProblem } from '../problem.ts'
import { outcome } from './conditions.ts'
import { drawTask } from './tasks.ts'

export const cancel: Area = {
  name: 'cancel',
  title: 'cancelled at a random moment',
  share: 2,
  seconds: 60,
  async run({ draw, note }) {
    const device = await openDevice({ kind: 'cpu', shared: false })
    try {
      const { vectors, options, text } = drawProblem(draw, { mostRows: 150 })
      const stop = new AbortController()
      const moment = draw.below(40)
      note(`aborted at moment ${moment}: ${text}`)
      // A moment is an operation on the device, so that the case can be repeated.
      let operations = 0
      const counted: Device = {
        ...forwarding(device),
        run: (work, control) => {
          if (operations++ === moment) stop.abort()
          return device.run(work, control)
        },
      }
      if (moment === 39) stop.abort()
      const tried = await attempt(() => cluster(vectors, { ...options, device: counted, signal: stop.signal }), {
        abort: true,
      })
      if ('value' in tried) {
        requireFinite(tried.value.centers.data, 'centres after an abort')
        const { k } = tried.value.facts
        for (const label of tried.value.labels)
          if (label >= k) throw new Failure('wrong result', `label ${label} of ${k}`)
      }
      await requireUsable(draw, device, 'an abort')
    } finally {
      await device.close()
    }
  },
}

export const callbacks: Area = {
  name: 'callbacks',
  title: 'callbacks that throw',
  share: 1,
  seconds: 60,
  async run({ draw, note }) {
    const threads = draw.chance(0.15)
    const device = await openDevice(threads ? { kind: 'cpu', threads: 2 } : { kind: 'cpu', shared: false })
    try {
      const { vectors, options, text } = drawProblem(draw, { mostRows: threads ? 3000 : 200 })
      const which = draw.pick(['onIteration', 'onProgress', 'checkpoint'] as const)
      const at = draw.between(1, 3)
      note(`${which} throws at call ${at}: ${text}`)
      let calls = 0
      const thrower = (): void => {
        if (++calls === at) throw new OwnError('of a callback')
      }
      const callback = which === 'checkpoint' ? { checkpoint: { every: 1, save: thrower } } : { [which]: thrower }
      const tried = await attempt(() => cluster(vectors, { ...options, ...callback, device }), { own: true })
      if (calls >= at && 'value' in tried) throw new Failure('silent acceptance', 'the error of the callback is lost')
      await requireUsable(draw, device, 'an error of a callback')
    } finally {
      await device.close()
    }
  },
}

export const allocation: Area = {
  name: 'allocation',
  title: 'allocation fails at the Nth time',
  share: 2,
  seconds: 60,
  async run({ draw, note }) {
    const task = drawTask(draw, { mostRows: 40 })
    const device = await openDevice({ kind: 'cpu', shared: false })
    try {
      const before = device.allocatedBytes
      const failing = draw.pick([draw.between(1, 6), draw.between(1, 40), draw.between(1, 150)])
      note(`allocation ${failing} fails: ${task.text}`)
      const wrapped = failingDevice(device, failing)
      let failed: unknown
      try {
        await task.run(wrapped)
      } catch (error) {
        acceptError(error)
        failed = error
      }
      if (wrapped.allocations() >= failing && failed === undefined) {
        throw new Failure('silent acceptance', 'the failed allocation is not reported')
      }
      if (device.allocatedBytes !== before) {
        throw new Failure('leftover', `${device.allocatedBytes - before} bytes stay allocated`)
      }
      await requireUsable(draw, device, 'a failed allocation')
    } finally {
      await device.close()
    }
  },
}

/** Threads started by devices, so that one can be ended from outside. */
const workers: { terminate(): Promise<unknown> }[] = []
let watching = false

function watchWorkers(): void {
  if (watching) return
  watching = true
  const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: new (...args: never[]) => object }
  const Original = threads.Worker
  threads.Worker = class extends Original {
    constructor(...args: never[]) {
      super(...args)
      workers.push(this as never)
    }
  }
  syncBuiltinESMExports()
}

export const lost: Area = {
  name: 'lost',
  title: 'lost devices',
  share: 1,
  seconds: 20,
  run: runLost,
}

async function runLost({ draw, note }: CaseContext): Promise<void> {
  watchWorkers()
  workers.length = 0
  const device = await openDevice({ kind: 'cpu', threads: draw.between(1, 3) })
  const victim = draw.below(workers.length)
  const delay = draw.pick([-1, 0, 0, 1, 2, 5, 10, 20])
  const { vectors, options, text } = drawProblem(draw, { mostRows: 2000 })
  note(`thread ${victim} of ${workers.length} ended after ${delay} ms: ${text}`)
  if (workers.length === 0) throw new Failure('wrong result', 'the device started no threads')
  if (delay < 0) await workers[victim].terminate()
  else setTimeout(() => void workers[victim].terminate(), delay)
  try {
    const first = await attempt(() => cluster(vectors, { ...options, device }))
    const code = (tried: typeof first): string =>
      'error' in tried ? (tried.error as CentroidalError).code : 'a result'
    const expected = ['a result', 'device-lost', 'bad-option', 'bad-data']
    if (!expected.includes(code(first)))
      throw new Failure('wrong result', `error code ${code(first)} after a thread ended`)
    await new Promise((resolve) => setTimeout(resolve, Math.max(delay, 0) + 5))
    await workers[victim].terminate()
    const second = await attempt(() => cluster([[1], [2], [9]], { k: 2, device }))
    if (code(second) !== 'device-lost') throw new Failure('wrong result', `the next run gives ${code(second)}`)
  } finally {
    await device.close()
  }
}

/** A run after the fault gives what a new device gives. */
async function requireUsable(draw: Draw, device: Device, after: string): Promise<void> {
  const task = drawTask(draw, { mostRows: 20, clusteringShare: 0.5 })
  const fresh = await openDevice({ kind: 'cpu', shared: false })
  try {
    requireSame(await outcome(task, fresh), await outcome(task, device), `after ${after}`)
    if (device.allocatedBytes !== 0) {
      const scratch = device.info.name.includes('threads') || device.info.features.includes('shared-memory')
      if (!scratch) throw new Failure('leftover', `${device.allocatedBytes} bytes stay allocated after ${after}`)
    }
  } finally {
    await fresh.close()
  }
}

function forwarding(device: Device): Device {
  return {
    info: device.info,
    get allocatedBytes() {
      return device.allocatedBytes
    },
    allocate: (bytes, label) => device.allocate(bytes, label),
    write: (...args) => device.write(...args),
    read: (part) => device.read(part),
    stage: (part) => device.stage(part),
    clear: (part) => device.clear(part),
    copy: (from, to) => device.copy(from, to),
    run: (work, control) => device.run(work, control),
    close: () => device.close(),
  }
}
