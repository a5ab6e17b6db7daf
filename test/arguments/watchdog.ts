/** Ends the process with the name of the call that hangs: a loop that never ends leaves a test runner no turn. */
import { Worker } from 'node:worker_threads'

export interface Watchdog {
  /** Names the call that begins now. */
  watch(name: string): void
  stop(): Promise<void>
}

export function startWatchdog(seconds: number): Watchdog {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
     const { writeSync } = require('node:fs')
     let name = ''
     let since = Date.now()
     parentPort.on('message', (message) => { name = message; since = Date.now() })
     setInterval(() => {
       if (name === '' || Date.now() - since < ${seconds * 1000}) return
       writeSync(2, 'This call does not end: ' + name + '\\n')
       process.kill(process.pid, 'SIGKILL')
     }, 500)`,
    { eval: true },
  )
  worker.unref()
  return {
    watch: (name) => worker.postMessage(name),
    stop: async () => {
      await worker.terminate()
    },
  }
}
