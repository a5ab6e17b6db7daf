/**
 * WebGPU in Node: Dawn through the `webgpu` package, with whatever driver there is.
 *
 * 1. The system's own driver. On Linux that needs a Vulkan loader; without one Dawn would complain
 *    on stderr, so its presence is tried first. A loader without a usable driver complains too (or
 *    crashes), so the first look happens in a child process whose stderr nobody sees.
 * 2. SwiftShader, a Vulkan driver in software, as the npm package `@sparticuz/chromium` carries it
 *    (x86_64 Linux). It is unpacked once to a cache folder; no root, no environment set by the user.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import type { GpuEntry } from './contract.ts'
import { calmPolling } from './node-gpu-polling.ts'
import { readTar } from './tar.ts'

const RTLD_NOW = 0x2
const RTLD_NODELETE = 0x1000
const SOFTWARE_FILES = ['libvulkan.so.1', 'libvk_swiftshader.so', 'vk_swiftshader_icd.json']

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
  const driver = await unpackSoftwareDriver()
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
      `const { create } = await import(${JSON.stringify(`file://${module}`)})
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

async function unpackSoftwareDriver(): Promise<{ folder?: string; whyNot?: string }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { whyNot: `there is no software driver for ${process.platform} ${process.arch}` }
  }
  const archive = findSoftwareArchive()
  if (archive === undefined) {
    return { whyNot: 'the software driver is not installed (npm install @sparticuz/chromium@147)' }
  }
  const folder = join(tmpdir(), `centroidal-swiftshader-147-${userInfo().uid}`)
  if (SOFTWARE_FILES.every((name) => existsSync(join(folder, name)))) return { folder }
  // Unpacked beside, then renamed: two processes starting at once cannot see half a driver.
  const staging = await mkdtemp(join(tmpdir(), 'centroidal-unpack-'))
  for (const file of readTar(brotliDecompressSync(await readFile(archive)))) {
    if (SOFTWARE_FILES.includes(file.name)) await writeFile(join(staging, file.name), file.bytes, { mode: 0o755 })
  }
  await rm(folder, { recursive: true, force: true })
  await mkdir(dirname(folder), { recursive: true })
  try {
    await rename(staging, folder)
  } catch {
    await rm(staging, { recursive: true, force: true })
  }
  return { folder }
}

function findSoftwareArchive(): string | undefined {
  // Beside this package, or beside the program that uses it.
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      const entry = createRequire(from).resolve('@sparticuz/chromium')
      let folder = dirname(entry)
      while (dirname(folder) !== folder && !existsSync(join(folder, 'bin', 'swiftshader.tar.br')))
        folder = dirname(folder)
      const archive = join(folder, 'bin', 'swiftshader.tar.br')
      if (existsSync(archive)) return archive
    } catch {
      // Not there; look further.
    }
  }
  return undefined
}

function firstLine(error: unknown): string {
  return String((error as Error)?.message ?? error).split('\n')[0]
}
