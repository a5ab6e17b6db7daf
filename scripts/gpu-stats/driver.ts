/** Finds Mesa's Vulkan driver for AMD GPUs (RADV) and the shim that stands in for the kernel's GPU interface. */
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Driver {
  /** Manifest of RADV for the Vulkan loader. */
  readonly icd: string
  /** Library for LD_PRELOAD. */
  readonly shim: string
}

export interface DriverOptions {
  readonly icd?: string | undefined
  readonly shim?: string | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Root of the file system that is searched. Default '/'. */
  readonly root?: string
}

const MANIFEST = /(^|\/)radeon_icd(\.\w+)?\.json$/
const SHIM = 'libamdgpu_noop_drm_shim.so'

/** What is missing, if not all was found. */
export type Found = { readonly driver: Driver } | { readonly missing: readonly string[] }

export function findDriver({ icd, shim, env = process.env, root = '/' }: DriverOptions = {}): Found {
  const foundIcd = icd === undefined ? manifests(env, root)[0] : existing(icd)
  const foundShim = shim === undefined ? shims(env, root)[0] : existing(shim)
  if (foundIcd !== undefined && foundShim !== undefined) return { driver: { icd: foundIcd, shim: foundShim } }
  const missing: string[] = []
  if (foundIcd === undefined) {
    missing.push(icd === undefined ? "Mesa's AMD driver (radeon_icd.json) was not found." : `No such file: ${icd}`)
  }
  if (foundShim === undefined) {
    missing.push(shim === undefined ? `Mesa's no-op GPU shim (${SHIM}) was not found.` : `No such file: ${shim}`)
  }
  return { missing }
}

const existing = (path: string): string | undefined => (existsSync(path) ? path : undefined)

function manifests(env: Readonly<Record<string, string | undefined>>, root: string): string[] {
  const named = [env.VK_DRIVER_FILES, env.VK_ICD_FILENAMES]
    .flatMap((list) => list?.split(delimiter) ?? [])
    .filter((path) => MANIFEST.test(path) && existsSync(path))
  const folders = ['usr/local/share', 'usr/share', 'usr/local/etc', 'etc']
  return [...named, ...folders.flatMap((folder) => filesIn(join(root, folder, 'vulkan/icd.d'), MANIFEST))]
}

function shims(env: Readonly<Record<string, string | undefined>>, root: string): string[] {
  const listed = env.LD_LIBRARY_PATH?.split(delimiter).filter((folder) => folder !== '') ?? []
  const libraries = ['usr/local/lib', 'usr/lib', 'usr/lib64'].map((folder) => join(root, folder))
  const folders = [...listed, ...libraries.flatMap((folder) => [folder, ...multiarch(folder)])]
  return folders.map((folder) => join(folder, SHIM)).filter((path) => existsSync(path))
}

/** Debian keeps libraries in folders such as x86_64-linux-gnu. */
const multiarch = (folder: string): string[] => filesIn(folder, /-linux-gnu$/)

function filesIn(folder: string, pattern: RegExp): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => join(folder, name))
}

export const INSTALLING = `gpu:stats compiles the kernels with Mesa's driver for AMD GPUs. It needs no GPU, but it needs two packages
of the same version of Mesa, on Linux. On Debian 12 (the shim is in backports only):

  echo 'deb http://deb.debian.org/debian bookworm-backports main' > /etc/apt/sources.list.d/backports.list
  apt-get update
  apt-get install -t bookworm-backports mesa-vulkan-drivers mesa-drm-shim

If they are installed elsewhere, give --icd PATH/radeon_icd.json and --shim PATH/${SHIM}.`
