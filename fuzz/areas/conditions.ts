/** The same work under other conditions must give the same bits: threads, streaming, neighbours on the device, resume. */
import { join } from 'node:path'
import { cluster, type Device, loadModel, openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import { attempt, requireSame } from '../judge.ts'
import { drawProblem, partsOf } from '../problem.ts'
import { drawTask, type Task } from './tasks.ts'

export const threads: Area = {
  name: 'threads',
  title: '1, 2, 3 and 8 threads against one',
  share: 2,
  seconds: 60,
  async run({ draw, note }) {
    const task = drawTask(draw, { mostRows: 90 })
    const counts = draw.pick([[1, 2], [2, 3], [1, 8], [3, 8]]) // biome-ignore format: short
    note(`${counts.join(' and ')} threads: ${task.text}`)
    const alone = await openDevice({ kind: 'cpu', shared: false })
    try {
      const wanted = await outcome(task, alone)
      for (const count of counts) {
        requireSame(wanted, await outcome(task, await threaded(count)), `on ${count} threads`)
      }
    } finally {
      await alone.close()
    }
  },
}

/** Devices with threads take long to open, so a process keeps them. */
const devices = new Map<number, Promise<Device>>()

function threaded(count: number): Promise<Device> {
  const open = devices.get(count) ?? openDevice({ kind: 'cpu', threads: count })
  devices.set(count, open)
  return open
}

export const streaming: Area = {
  name: 'streaming',
  title: 'the same data streamed',
  share: 3,
  seconds: 60,
  async run({ draw, note }) {
    const task = drawTask(draw, { mostRows: 200 })
    const partBytes = draw.pick([256, 512, 1024, 4096, 2 ** 20])
    const memoryBytes = draw.pick([1, 256, 1024, 4096, 16_384])
    note(`parts of ${partBytes} bytes, memory of ${memoryBytes}: ${task.text}`)
    // Parts are cut the same way; whether they stay on the device must not matter.
    const limits = { partBytes } as object
    const resident = await openDevice({ kind: 'cpu', shared: false, limits })
    const streamed = await openDevice({ kind: 'cpu', shared: false, limits, memoryBytes })
    try {
      requireSame(await outcome(task, resident), await outcome(task, streamed), 'streamed')
    } finally {
      await resident.close()
      await streamed.close()
    }
  },
}

export const concurrent: Area = {
  name: 'concurrent',
  title: 'several runs on one device at a time',
  share: 2,
  seconds: 60,
  async run({ draw, note }) {
    const tasks = Array.from({ length: draw.between(2, 5) }, () => drawTask(draw, { mostRows: 50 }))
    note(tasks.map(({ text }) => text).join(' | '))
    const alone = await openDevice({ kind: 'cpu', shared: false })
    const common = await openDevice({ kind: 'cpu', shared: false })
    try {
      const wanted: Record<string, unknown>[] = []
      for (const task of tasks) wanted.push(await outcome(task, alone))
      const found = await Promise.all(tasks.map((task) => outcome(task, common)))
      for (const [i, result] of found.entries()) requireSame(wanted[i], result, `beside others, task ${i}`)
      if (common.allocatedBytes !== 0) throw new Failure('leftover', `${common.allocatedBytes} bytes stay allocated`)
    } finally {
      await alone.close()
      await common.close()
    }
  },
}

export const resume: Area = {
  name: 'resume',
  title: 'stop, save, load, resume, 14 methods',
  share: 4,
  seconds: 60,
  run: runResume,
}

async function runResume({ draw, folder, note }: CaseContext): Promise<void> {
  const { vectors, options, text } = drawProblem(draw)
  const iterations = draw.between(2, 12)
  const stopAt = draw.between(1, iterations)
  const throughDisk = draw.chance(0.7)
  const { restarts: _, ...single } = options
  const unbroken = { ...single, iterations }
  note(`stopped after ${stopAt} of ${iterations}${throughDisk ? ', through a folder' : ''}: ${text}`)
  const device = await openDevice({ kind: 'cpu', shared: false })
  try {
    const wanted = await attempt(() => cluster(vectors, { ...unbroken, device }))
    const first = await attempt(() => cluster(vectors, { ...unbroken, iterations: stopAt, device }))
    if ('error' in wanted || 'error' in first) return
    let half = first.value
    if (throughDisk) {
      const place = join(folder(), 'model')
      await half.save(place)
      half = await loadModel(place)
      requireSame(partsOf(first.value), partsOf(half), 'saved and loaded')
    }
    const k = 'k' in unbroken ? { k: unbroken.k as number } : {}
    const found = await attempt(() => cluster(vectors, { ...unbroken, ...k, resume: half, device }))
    if ('error' in found) throw new Failure('wrong result', `resuming was refused: ${found.error.message}`)
    requireSame(partsOf(wanted.value), partsOf(found.value), 'resumed')
  } finally {
    await device.close()
  }
}

/** The result or the message of the error. */
export async function outcome(task: Task, device: Device): Promise<Record<string, unknown>> {
  const tried = await attempt(() => task.run(device))
  return 'error' in tried ? { error: tried.error.message } : tried.value
}
