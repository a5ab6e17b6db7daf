/**
 * WebGPU in Node: Dawn through the `webgpu` package, with whatever driver there is.
 *
 * 1. The system's own driver, which is looked at in a child process first; see gpu-probe.ts.
 * 2. SwiftShader, a driver in software, where the caller takes one; see swiftshader.ts.
 *
 * Dawn is loaded only when there is a driver to use: without one it takes time, and it writes its complaints to stderr.
 */
import { join } from 'node:path'
import type { GpuEntry } from './contract.ts'
import { DAWN, hasGpu } from './gpu-drivers.ts'
import { hasDawn, keepLoaded, probeSystemDriver, type SystemDriver } from './gpu-probe.ts'
import { calmPolling } from './node-gpu-polling.ts'
import { unpackSoftwareDriver } from './swiftshader.ts'

type Dawn = { create(flags: string[]): GPU; globals: object }
type Found = { entry?: GpuEntry; whyNot?: string }

const NO_DAWN = 'WebGPU in Node needs the package webgpu, which is not installed (npm install webgpu)'
const SYSTEM = 'the system driver'
const SWIFTSHADER = 'SwiftShader from @sparticuz/chromium'

export async function findNodeGpu({ software }: { software: boolean }): Promise<Found> {
  if (process.env.CENTROIDAL_NO_GPU) return { whyNot: 'CENTROIDAL_NO_GPU is set' }
  if (!software && !hasGpu()) return { whyNot: 'there is no hardware GPU' }
  const known = processGpu()
  // Calls are serialized: the second one reuses the result of the first.
  const found = known.turn.then(() => findInTurn(known, software))
  known.turn = found.catch(() => {})
  return found
}

/** The GPU state of this process, on globalThis, because two copies of this library in one process share one Dawn. */
interface ProcessGpu {
  /** Gpu objects that answered: Dawn crashes when one is collected while a device of it lives. */
  readonly gpus: Record<string, GPU>
  /** Set by the first look. Later ones could see the variables that SwiftShader needs. */
  system?: SystemDriver
  turn: Promise<unknown>
}

function processGpu(): ProcessGpu {
  const key = Symbol.for('centroidal.gpu')
  const holder = globalThis as unknown as Record<symbol, ProcessGpu>
  holder[key] ??= { gpus: {}, turn: Promise.resolve() }
  return holder[key]
}

/** Bundlers do not include it, as it is an optional package. */
const importDawn = (name: string): Promise<unknown> =>
  import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)

function missesDawn(error: unknown): boolean {
  return (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND'
}

async function findInTurn(known: ProcessGpu, software: boolean): Promise<Found> {
  if (!hasDawn()) return { whyNot: NO_DAWN }
  known.system ??= await probeSystemDriver()
  const { adapter, whyNot } = known.system
  if (!software && adapter !== 'hardware' && adapter !== 'unknown') return { whyNot }
  let dawn: Dawn
  try {
    dawn = (await importDawn(DAWN)) as unknown as Dawn
  } catch (error) {
    if (missesDawn(error)) return { whyNot: NO_DAWN }
    return { whyNot: `the package webgpu did not load (${String((error as Error)?.message ?? error).split('\n')[0]})` }
  }
  Object.assign(globalThis, dawn.globals)
  calmPolling()
  if (adapter !== 'none') {
    const entry = await requestAdapter(known, dawn, SYSTEM)
    if (entry && (software || !entry.adapter.info.isFallbackAdapter)) return { entry }
  }
  return software ? findSoftware(known, dawn) : { whyNot: 'no hardware GPU driver answered' }
}

async function findSoftware(known: ProcessGpu, dawn: Dawn): Promise<Found> {
  if (known.gpus[SWIFTSHADER] === undefined) {
    const driver = unpackSoftwareDriver()
    if (driver.folder === undefined) return { whyNot: `no GPU driver answered, and ${driver.whyNot}` }
    const icd = join(driver.folder, 'vk_swiftshader_icd.json')
    process.env.VK_ICD_FILENAMES = icd
    process.env.VK_DRIVER_FILES = icd
    keepLoaded(join(driver.folder, 'libvulkan.so.1'))
  }
  const entry = await requestAdapter(known, dawn, SWIFTSHADER)
  return entry ? { entry } : { whyNot: 'neither the system nor SwiftShader gave an adapter' }
}

async function requestAdapter(known: ProcessGpu, dawn: Dawn, origin: string): Promise<GpuEntry | undefined> {
  // A gpu object that once answered null stays null, so only those that answered are used again.
  const gpu = known.gpus[origin] ?? dawn.create([])
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) return undefined
  known.gpus[origin] = gpu
  return { gpu, adapter, origin }
}
