/**
 * WebGPU in Node: Dawn through the `webgpu` package, with whatever driver there is.
 *
 * 1. The system's own driver. On Linux that needs a Vulkan loader; without one Dawn would complain
 *    on stderr, so its presence is tried first. A loader without a usable driver complains too (or
 *    crashes), so the first look happens in a child process whose stderr nobody sees.
 * 2. SwiftShader, a Vulkan driver in software, as the npm package `@sparticuz/chromium` carries it
 *    (x86_64 Linux). It is unpacked once to the user's cache folder and checked each time before it is loaded.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import type { GpuEntry } from './contract.ts'
import { calmPolling } from './node-gpu-polling.ts'
import { digestOf, type PackedFile, privateFolder } from './private-folder.ts'
import { readTar } from './tar.ts'

const RTLD_NOW = 0x2
const RTLD_NODELETE = 0x1000
const SOFTWARE_FILES = ['libvulkan.so.1', 'libvk_swiftshader.so', 'vk_swiftshader_icd.json']

/** Of @sparticuz/chromium 147.0.0: the archive, and the digest of the files above in it. */
const KNOWN_ARCHIVE = {
  sha256: 'f957ea867313f9815b71dc2ed30cce301e01db4f3973fbdb31ffa5391b0ec45a',
  digest: '8ac46c852b07afe7c9b44d2c91c512237cf899707f55420d5c6eb6030ed5cc35',
}

type Dawn = { create(flags: string[]): GPU; globals: object }

export async function findNodeGpu({ software }: { software: boolean }): Promise<{ entry?: GpuEntry; whyNot?: string }> {
  if (process.env.CENTROIDAL_NO_GPU) return { whyNot: 'CENTROIDAL_NO_GPU is set' }
  let dawn: Dawn
  try {
    dawn = (await import('webgpu')) as unknown as Dawn
  } catch (error) {
    return { whyNot: `the package webgpu did not load (${firstLine(error)})` }
  }
  Object.assign(globalThis, dawn.globals)
  calmPolling()
  const kept = await reuseEntry(software)
  if (kept) return { entry: kept }
  if (systemDriverWorks()) {
    const entry = await requestAdapter(dawn, 'the system driver')
    if (entry && (software || !entry.adapter.info.isFallbackAdapter)) return { entry }
  }
  if (!software) return { whyNot: 'no hardware GPU driver answered' }
  const driver = unpackSoftwareDriver()
  if (driver.folder === undefined) return { whyNot: `no GPU driver answered, and ${driver.whyNot}` }
  const icd = join(driver.folder, 'vk_swiftshader_icd.json')
  process.env.VK_ICD_FILENAMES = icd
  process.env.VK_DRIVER_FILES = icd
  keepLoaded(join(driver.folder, 'libvulkan.so.1'))
  const entry = await requestAdapter(dawn, 'SwiftShader from @sparticuz/chromium')
  return entry ? { entry } : { whyNot: 'neither the system nor SwiftShader gave an adapter' }
}

async function requestAdapter(dawn: Dawn, origin: string): Promise<GpuEntry | undefined> {
  // A gpu object that once answered null stays null, so each try makes its own.
  const gpu = dawn.create([])
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) return undefined
  keptEntries()[origin] = gpu
  return { gpu, adapter, origin }
}

/**
 * Gpu objects that answered, kept for the life of the process: Dawn crashes when one is collected
 * while a device of it lives, and finding a driver again costs time. Kept on globalThis, because two
 * copies of this library in one process share one Dawn.
 */
function keptEntries(): Record<string, GPU> {
  const key = Symbol.for('centroidal.dawn')
  const holder = globalThis as unknown as Record<symbol, Record<string, GPU>>
  holder[key] ??= {}
  return holder[key]
}

async function reuseEntry(software: boolean): Promise<GpuEntry | undefined> {
  for (const [origin, gpu] of Object.entries(keptEntries())) {
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
    if (adapter && (software || !adapter.info.isFallbackAdapter)) return { gpu, adapter, origin }
  }
  return undefined
}

function systemDriverWorks(): boolean {
  if (process.platform !== 'linux') return true
  if (!keepLoaded('libvulkan.so.1')) return false
  const module = createRequire(import.meta.url).resolve('webgpu')
  const probe = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { create } = await import(${JSON.stringify(pathToFileURL(module).href)})
       process.exit((await create([]).requestAdapter()) ? 0 : 1)`,
    ],
    { stdio: 'ignore', timeout: 20_000 },
  )
  return probe.status === 0
}

/** Loads a shared library into the process for good. Node says it is no module of its own, which is fine. */
function keepLoaded(library: string): boolean {
  try {
    process.dlopen({ exports: {} }, library, RTLD_NOW | RTLD_NODELETE)
    return true
  } catch (error) {
    return !/cannot open shared object|no such file/i.test(String(error))
  }
}

/** The software driver, in a folder that only this user can write to; see private-folder.ts. */
function unpackSoftwareDriver(): { folder?: string; whyNot?: string } {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { whyNot: `there is no software driver for ${process.platform} ${process.arch}` }
  }
  const archive = findSoftwareArchive()
  if (archive === undefined) {
    return {
      whyNot:
        'the software driver is not installed (npm install @sparticuz/chromium@147, in the project or global folder where centroidal is installed)',
    }
  }
  try {
    const packed = readFileSync(archive)
    const unpack = (): PackedFile[] =>
      [...readTar(brotliDecompressSync(packed))].filter(({ name }) => SOFTWARE_FILES.includes(name))
    // Unpacking takes ten times as long as hashing, so the digest of the known archive is written down here.
    const known = createHash('sha256').update(packed).digest('hex') === KNOWN_ARCHIVE.sha256
    const digest = known ? KNOWN_ARCHIVE.digest : digestOf(unpack())
    return { folder: privateFolder('swiftshader', digest, unpack) }
  } catch (error) {
    return { whyNot: `the software driver could not be unpacked (${firstLine(error)})` }
  }
}

/**
 * Only where Node looks for the packages this file imports. The current folder is not searched: it may hold files of
 * others, and what is found is run.
 */
function findSoftwareArchive(): string | undefined {
  try {
    let folder = dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
    while (dirname(folder) !== folder && !existsSync(join(folder, 'bin', 'swiftshader.tar.br')))
      folder = dirname(folder)
    const archive = join(folder, 'bin', 'swiftshader.tar.br')
    return existsSync(archive) ? archive : undefined
  } catch {
    return undefined
  }
}

function firstLine(error: unknown): string {
  return String((error as Error)?.message ?? error).split('\n')[0]
}
