/**
 * What each thread of the CPU device runs, as text: it starts from a string both in Node and in a
 * page, so no bundler has to know about it. The platform puts `post` and `listen` in front.
 *
 * The control block is shared: words 0 to 7 as named below, then the arguments as 64-bit floats.
 * Threads sleep on the generation, take items `grain` at a time, and the last one to finish reports.
 */
export const CONTROL = {
  generation: 0,
  entry: 1, // index of the function, or -1 to end
  items: 2,
  grain: 3,
  next: 4, // first item nobody has taken
  running: 5, // threads not yet done
  argCount: 6,
  scratch: 7, // address of thread 0's scratch
  scratchBytes: 8,
  words: 16,
} as const

export const MAX_ARGS = 24
export const CONTROL_BYTES = CONTROL.words * 4 + MAX_ARGS * 8

export const THREAD_SCRIPT = `
listen(({ module, memory, control, entries, index }) => {
  const instance = new WebAssembly.Instance(module, { env: { memory, abort() { throw new Error('abort') } } })
  const functions = entries.map((name) => instance.exports[name])
  const words = new Int32Array(control)
  const numbers = new Float64Array(control, ${CONTROL.words * 4})
  post({ ready: index })
  let seen = 0
  for (;;) {
    Atomics.wait(words, ${CONTROL.generation}, seen)
    seen = Atomics.load(words, ${CONTROL.generation})
    const entry = words[${CONTROL.entry}]
    if (entry < 0) break
    const items = words[${CONTROL.items}]
    const grain = words[${CONTROL.grain}]
    const scratch = (words[${CONTROL.scratch}] >>> 0) + index * words[${CONTROL.scratchBytes}]
    const args = Array.from(numbers.subarray(0, words[${CONTROL.argCount}]))
    const run = functions[entry]
    try {
      for (;;) {
        const start = Atomics.add(words, ${CONTROL.next}, grain)
        if (start >= items) break
        run(start, Math.min(start + grain, items), scratch, ...args)
      }
    } catch (error) {
      post({ failed: String(error) })
    }
    if (Atomics.sub(words, ${CONTROL.running}, 1) === 1) post({ done: seen })
  }
})
`
