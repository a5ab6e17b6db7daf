/** The Node side of the platform contract. */
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { openBlobOrUrl } from './browser-files.ts'
import type { Platform, Thread } from './contract.ts'
import { disk } from './disk.ts'
import { listFiles } from './file-patterns.ts'
import { memoryLimit } from './memory-limit.ts'
import { createFile, explain, openFile } from './node-files.ts'
import { findNodeGpu } from './node-gpu.ts'
import { readPrivateFile, writePrivateFile } from './private-folder.ts'
import { createScratch } from './scratch.ts'

export const platform: Platform = {
  name: 'node',
  hardwareThreads: () => availableParallelism(),
  sharedMemory: () => true,
  memoryLimit: () => memoryLimit(),
  memoryInUse: () => process.memoryUsage.rss(),
  async enableRelaxedSimd() {
    // On by default from Node 21; a flag before. Unknown flags are ignored by later versions.
    if (Number(process.versions.node.split('.')[0]) < 21) setFlagsFromString('--experimental-wasm-relaxed-simd')
  },
  startThread,
  findGpu: findNodeGpu,
  async recall(name) {
    try {
      return readPrivateFile(name)
    } catch {
      return undefined
    }
  },
  async remember(name, text) {
    try {
      writePrivateFile(name, text)
    } catch {
      // Without a folder of its own there is nowhere to keep it.
    }
  },
  openBytes(location) {
    return location instanceof Blob ? openBlobOrUrl(location) : openFile(location)
  },
  listFiles,
  // By a variable, so that bundlers do not look for packages that may not be there.
  importPackage: (name) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name),
  createBytes: (location) => createFile(location),
  disk,
  createScratch,
  cannotWrite: (location, error) => explain(error, 'write', location),
}

function startThread(script: string): Thread {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
     const post = (message) => parentPort.postMessage(message)
     const listen = (listener) => parentPort.on('message', listener)
     ${script}`,
    // Flags of the process are not for its threads: --input-type=module would make this script a module.
    { eval: true, stdout: false, stderr: false, execArgv: [] },
  )
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (listener) => worker.on('message', listener),
    onLost: (listener) => {
      worker.on('error', (error) => listener(String(error)))
      worker.on('exit', (code) => listener(`it ended with exit code ${code}`))
    },
    keepAlive: (on) => (on ? worker.ref() : worker.unref()),
    terminate: async () => {
      await worker.terminate()
    },
  }
}
