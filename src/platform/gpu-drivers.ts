/**
 * Which GPU drivers a Linux system has, determined from its files without loading any. Vulkan drivers are announced by
 * manifests, JSON files that name a library, in folders that the Vulkan loader searches.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** What hardware drivers talk to: Direct Rendering Manager (checked apart), NVIDIA, Tegra, WSL, Adreno, Mali, PowerVR. */
const GPU_NODES = /^(nvidia.*|nvhost.*|nvgpu|nvmap|dxg|kgsl.*|mali.*|pvr.*|goldfish_pipe)$/
/** Variables that change which driver is loaded, or what it does. */
const DRIVER_VARIABLES =
  /^(VK_|MESA_|DRI_|LD_|LIBGL_|LP_|GALLIUM_|RADV_|AMD_|ANV_|INTEL_|NV|__|NOUVEAU_|DISPLAY$|WAYLAND_|XDG_)/
const LIBRARY_FOLDERS: Record<string, string> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }

/** False where no driver could drive hardware, because the system shows none. */
export function hasGpu(devices = '/dev'): boolean {
  if (process.platform !== 'linux') return true
  try {
    return gpuNodes(devices).length > 0
  } catch {
    // Without access to the folder, the result is unknown.
    return true
  }
}

function gpuNodes(devices: string): string[] {
  const names = readdirSync(devices).filter((name) => GPU_NODES.test(name))
  return [...names, ...namesIn(join(devices, 'dri')).filter((name) => name.startsWith('renderD'))]
}

/** The manifests that the Vulkan loader would find. */
export function driverManifests(env: Env = process.env): string[] {
  const listed = (variable: string): string[] => (env[variable] ?? '').split(':').filter((path) => path !== '')
  const forced = [...listed('VK_DRIVER_FILES'), ...listed('VK_ICD_FILENAMES')]
  const places = forced.length > 0 ? forced : searchFolders(env)
  return [...places, ...listed('VK_ADD_DRIVER_FILES')].flatMap((place) =>
    place.endsWith('.json')
      ? [place].filter((path) => factsOf(path) !== undefined)
      : namesIn(place)
          .filter((name) => name.endsWith('.json'))
          .map((name) => join(place, name)),
  )
}

function searchFolders(env: Env): string[] {
  let home = ''
  try {
    home = env.HOME ?? homedir()
  } catch {
    // A user id without a passwd entry has no home.
  }
  const roots = [
    env.XDG_CONFIG_HOME || join(home, '.config'),
    ...(env.XDG_CONFIG_DIRS || '/etc/xdg').split(':'),
    '/usr/local/etc',
    '/etc',
    env.XDG_DATA_HOME || join(home, '.local/share'),
    ...(env.XDG_DATA_DIRS || '/usr/local/share:/usr/share').split(':'),
    // Where NixOS keeps drivers.
    '/run/opengl-driver/share',
  ]
  return [...new Set(roots)].filter((root) => isAbsolute(root)).map((root) => join(root, 'vulkan/icd.d'))
}

/** The package that brings WebGPU to Node. It is optional, because it takes 137 MB. */
export const DAWN = 'webgpu'

/** Where the package is. Throws where it is not installed. */
export function dawnFile(): string {
  return resolvePackage(DAWN)
}

/** By a parameter: bundlers look for packages that are resolved by their names, and Turbopack then cannot bundle Dawn. */
function resolvePackage(name: string): string {
  return createRequire(import.meta.url).resolve(name)
}

/**
 * A fingerprint that changes with the drivers, the devices and the user: a driver that answered once answers again as long
 * as it stays the same. Undefined where that cannot be told.
 */
export function driverFingerprint(manifests: readonly string[], env: Env = process.env): string | undefined {
  try {
    const libraries = ['libvulkan.so.1', ...manifests.map(libraryOf)].flatMap((library) => filesOf(library, env))
    const facts = {
      // After a start of the system its kernel may be another one.
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
      user: [process.geteuid?.(), process.getgroups?.()],
      node: [process.version, process.arch],
      devices: gpuNodes('/dev'),
      env: Object.entries(env).filter(([name]) => DRIVER_VARIABLES.test(name)),
      files: [...manifests, ...libraries, dawnFile()].map((path) => {
        const found = factsOf(path)
        return [path, found?.size, found?.mtimeMs, found?.ino]
      }),
    }
    return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
  } catch {
    return undefined
  }
}

/** A path, or a name that the system's linker looks up. */
function libraryOf(manifest: string): string {
  const { ICD } = JSON.parse(readFileSync(manifest, 'utf8')) as { ICD: { library_path: string } }
  const library = ICD.library_path
  return library.includes('/') ? resolve(manifest, '..', library) : library
}

/** Throws where the linker would find a name in a place that is not known here. */
function filesOf(library: string, env: Env): string[] {
  if (isAbsolute(library)) return [library]
  const triplet = LIBRARY_FOLDERS[process.arch] ?? ''
  const folders = [
    ...(env.LD_LIBRARY_PATH ?? '').split(':').filter(isAbsolute),
    ...['/usr/local/lib', '/usr/lib', '/lib'].flatMap((folder) => [join(folder, triplet), folder, `${folder}64`]),
  ]
  const files = folders.map((folder) => join(folder, library)).filter((path) => factsOf(path) !== undefined)
  if (files.length === 0) throw new Error(`${library} was not found in a known folder`)
  return files
}

function factsOf(path: string): { size: number; mtimeMs: number; ino: number } | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
