/** The page's side of the platform contract. */
import { CentroidalError } from '../core/errors.ts'
import { openBlobOrUrl } from './browser-files.ts'
import type { Platform, Thread } from './contract.ts'

/** Responses of this name are kept in the Cache API, which workers have too, unlike local storage. The address is never fetched. */
const CACHE = 'centroidal'
const KEPT_AT = 'https://centroidal.invalid/'

export const platform: Platform = {
  name: 'browser',
  hardwareThreads: () => navigator.hardwareConcurrency || 1,
  // Browsers share memory between threads only on cross-origin isolated pages.
  sharedMemory: () => globalThis.crossOriginIsolated === true && typeof SharedArrayBuffer !== 'undefined',
  // Browsers do not tell.
  memoryLimit: () => undefined,
  memoryInUse: () => undefined,
  enableRelaxedSimd: async () => {},
  startThread,
  async findGpu({ software }) {
    if (!navigator.gpu) return { whyNot: 'this browser has no WebGPU' }
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' })
    if (!adapter) return { whyNot: 'the browser found no WebGPU adapter' }
    if (adapter.info.isFallbackAdapter && !software) return { whyNot: 'the browser offers only a software adapter' }
    return { entry: { gpu: navigator.gpu, adapter, origin: 'the browser' } }
  },
  async recall(name) {
    try {
      const cache = await globalThis.caches?.open(CACHE)
      return await (await cache?.match(KEPT_AT + name))?.text()
    } catch {
      return undefined
    }
  },
  async remember(name, text) {
    try {
      const cache = await globalThis.caches?.open(CACHE)
      await cache?.put(KEPT_AT + name, new Response(text))
    } catch {
      // Insecure pages have no such storage, and others may be denied it.
    }
  },
  openBytes: openBlobOrUrl,
  listFiles: async (location) => [location],
  importPackage: (name) => Promise.reject(new Error(`${name} is not available in a page`)),
  createBytes: refuseToWrite,
  disk: undefined,
  createScratch: undefined,
  cannotWrite: notFromPages,
}

function startThread(script: string): Thread {
  const url = URL.createObjectURL(
    new Blob(
      [
        `const post = (message) => self.postMessage(message)
         const listen = (listener) => { self.onmessage = (event) => listener(event.data) }
         ${script}`,
      ],
      { type: 'text/javascript' },
    ),
  )
  const worker = new Worker(url)
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (listener) => worker.addEventListener('message', (event) => listener(event.data)),
    onLost: (listener) => worker.addEventListener('error', (event) => listener(event.message || 'it did not start')),
    keepAlive: () => {},
    terminate: async () => {
      worker.terminate()
      URL.revokeObjectURL(url)
    },
  }
}

async function refuseToWrite(location: string): Promise<never> {
  throw notFromPages(location)
}

function notFromPages(location: string): CentroidalError {
  return new CentroidalError('bad-file', `${location} cannot be written from a page: save to memory instead.`)
}
