/**
 * What each thread of the CPU device runs, as text: it starts from a string both in Node and in a
 * page, so no bundler has to know about it. The platform puts `post` and `listen` in front.
 *
 * The control block is shared: a header, then a queue of jobs, each with the address of its arguments. Threads sleep on the generation, then go through the queue together: they take a job's items
 * `grain` at a time and meet before the next one, so that it sees all that was written. The last to
 * finish reports. A queue costs the host one round trip, however many jobs it holds.
 *
 * A thread gets two messages: one with the module, which it answers when it is ready, and one that makes it process all
 * queues after a given generation, under a number of its own.
 */
export const CONTROL = {
  generation: 0,
  jobs: 1, // in the queue, or -1 to end
  running: 2, // threads not yet done with the queue
  met: 3, // threads that finished a job, over all jobs so far
  stop: 4, // 1: whatever was not begun is left out, or done when the queue goes on
  scratch: 5, // address of thread 0's scratch
  scratchBytes: 6,
  failures: 7, // jobs that failed, each told in a message of its own
  threads: 8, // that go through the queue
  words: 16,
} as const

export const JOB = {
  entry: 0, // index of the function
  items: 1,
  grain: 2,
  next: 3, // first item that was not taken
  block: 4, // address of the block of arguments
  scratchBytes: 5,
  words: 8,
} as const

export const MAX_JOBS = 64
export const JOB_BYTES = JOB.words * 4
export const CONTROL_BYTES = CONTROL.words * 4 + MAX_JOBS * JOB_BYTES

const ABORTED = 'an assertion does not hold'
const OUTSIDE = 'out of bounds: a kernel touched memory that belongs to none of its arguments, at byte '

/** What kernels import. Threads have the same below. */
export function kernelImports(memory: WebAssembly.Memory): WebAssembly.Imports {
  const fail = (message: string): never => {
    throw new Error(message)
  }
  return {
    env: { memory, abort: () => fail(ABORTED) },
    // Only the checked build asks for it.
    checked: { outside: (address: number) => fail(OUTSIDE + (address >>> 0)) },
  }
}

export const THREAD_SCRIPT = `
const fail = (message) => { throw new Error(message) }
const kernelImports = (memory) => ({
  env: { memory, abort: () => fail('${ABORTED}') },
  checked: { outside: (address) => fail('${OUTSIDE}' + (address >>> 0)) },
})
const prepared = {}
listen((message) => {
  if (message.module === undefined) prepared.begin(message)
  else prepared.begin = prepare(message)
})
const prepare = ({ module, memory, control, entries, fill }) => {
  const instance = new WebAssembly.Instance(module, kernelImports(memory))
  const functions = entries.map((name) => instance.exports[name])
  const words = new Int32Array(control)
  // A meeting is mostly over within microseconds; sleeping and waking would take longer than that.
  const meet = (everybody) => {
    if (Atomics.add(words, ${CONTROL.met}, 1) + 1 === everybody) {
      Atomics.notify(words, ${CONTROL.met})
      return
    }
    for (let turn = 0; turn < 300; turn++) if (Atomics.load(words, ${CONTROL.met}) >= everybody) return
    for (;;) {
      const here = Atomics.load(words, ${CONTROL.met})
      if (here >= everybody) return
      Atomics.wait(words, ${CONTROL.met}, here)
    }
  }
  const take = (at, scratch) => {
    const items = words[at + ${JOB.items}]
    const grain = words[at + ${JOB.grain}]
    const block = words[at + ${JOB.block}]
    const run = functions[words[at + ${JOB.entry}]]
    const spoil = () => {
      // Growing by nothing brings the view up to date after another thread grew the memory.
      memory.grow(0)
      new Uint8Array(memory.buffer, scratch, words[at + ${JOB.scratchBytes}]).fill(fill)
    }
    while (Atomics.load(words, ${CONTROL.stop}) === 0) {
      const start = Atomics.add(words, at + ${JOB.next}, grain)
      if (start >= items) break
      if (fill !== undefined) spoil()
      run(start, Math.min(start + grain, items), scratch, block)
    }
  }
  // Queues up to the generation \`seen\` were for other threads.
  const goThroughQueues = ({ index, seen }) => {
    for (;;) {
      Atomics.wait(words, ${CONTROL.generation}, seen)
      seen = Atomics.load(words, ${CONTROL.generation})
      const jobs = words[${CONTROL.jobs}]
      if (jobs < 0) break
      const threads = words[${CONTROL.threads}]
      const scratch = (words[${CONTROL.scratch}] >>> 0) + index * words[${CONTROL.scratchBytes}]
      for (let job = 0; job < jobs; job++) {
        const at = ${CONTROL.words} + job * ${JOB_BYTES / 4}
        try {
          take(at, scratch)
        } catch (error) {
          Atomics.store(words, ${CONTROL.stop}, 1)
          Atomics.add(words, ${CONTROL.failures}, 1)
          post({ failed: String(error), entry: words[at + ${JOB.entry}] })
        }
        if (job + 1 < jobs) meet((job + 1) * threads)
      }
      if (Atomics.sub(words, ${CONTROL.running}, 1) === 1) post({ done: seen })
    }
  }
  post({ ready: true })
  return goThroughQueues
}
`
