/** The most memory a run takes. A process of its own measures it: its peak is that of this run, and of nothing else. */
import { fork } from 'node:child_process'
import { cluster, type Device, type MethodName, openDevice, openVectors, readVectors } from '../../src/index.ts'

export interface MemoryTask {
  /** A file of vectors. */
  readonly file: string
  readonly k: number
  readonly rounds: number
  readonly threads: number
  readonly device: 'cpu' | 'webgpu'
  /** `matrix` holds the vectors in memory too, `file` lets the run read them piece by piece. */
  readonly given: 'matrix' | 'file'
}

/** All in bytes. */
export interface Memory {
  /** The vectors as they are stored (bytes stay bytes), and the centres. */
  readonly needed: number
  readonly device: number
  /** By how much the process grew, beyond what Node and an open device take. */
  readonly growth: number
  /** Of the process, Node included. */
  readonly process: number
}

const METHOD: MethodName = 'closures-sharp'

/** Runs the task in a new process of this program, which must hand `--memory` to `answerMemoryTask`. */
export function measureMemory(task: MemoryTask): Promise<Memory> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1], ['--memory', JSON.stringify(task)])
    child.once('message', (memory) => resolve(memory as Memory))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The run that measures memory ended with code ${code}.`)))
  })
}

export async function answerMemoryTask(text: string): Promise<void> {
  const task = JSON.parse(text) as MemoryTask
  const device = await openDevice({ kind: task.device, threads: task.threads })
  const peak = watchAllocations(device)
  const before = process.memoryUsage.rss()
  const vectors = await (task.given === 'matrix' ? readVectors : openVectors)(task.file)
  const { k, rounds } = task
  await cluster(vectors, { k, method: METHOD, iterations: rounds, tolerance: 0, seed: 1, device })
  const bytes = 'data' in vectors ? vectors.data.BYTES_PER_ELEMENT : vectors.type === 'u8' ? 1 : 4
  const most = process.resourceUsage().maxRSS * 1024
  const memory: Memory = {
    needed: vectors.rows * vectors.cols * bytes + k * vectors.cols * 4,
    device: peak(),
    growth: most - before,
    process: most,
  }
  await device.close()
  process.send?.(memory)
  process.disconnect?.()
}

/** The most bytes that were allocated at a time, from now on; scratch of threads is seen after the work that asks for it. */
export function watchAllocations(device: Device): () => number {
  let most = device.allocatedBytes
  const look = (): void => {
    most = Math.max(most, device.allocatedBytes)
  }
  const allocate = device.allocate.bind(device)
  const run = device.run.bind(device)
  device.allocate = (bytes, label) => {
    const buffer = allocate(bytes, label)
    look()
    return buffer
  }
  device.run = async (work, control) => {
    await run(work, control)
    look()
  }
  return () => most
}
