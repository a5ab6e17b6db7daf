/**
 * What the system's own GPU driver offers. A bad driver crashes the process that loads it or writes to its terminal, so on
 * Linux the first check runs in a child process without output. What it found is remembered in the user's cache as long as
 * the drivers stay the same.
 */
import { spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { dawnFile, driverFingerprint, driverManifests } from './gpu-drivers.ts'
import { readPrivateFile, writePrivateFile } from './private-folder.ts'

/** `unknown` where no look is needed, because drivers there neither crash nor complain. */
export type SystemDriver =
  | { readonly adapter: 'hardware' | 'software' | 'none'; readonly whyNot: string }
  | { readonly adapter: 'unknown'; readonly whyNot?: undefined }

type Answer = 'hardware' | 'software' | 'none'

const RTLD_NOW = 0x2
const RTLD_NODELETE = 0x1000
const LONGEST_MS = 20_000
/** Exit codes of the child that have no other meaning. */
const ANSWERS: Record<number, Answer> = { 50: 'hardware', 51: 'software', 52: 'none' }
const MEMORY = 'gpu-driver.json'

/** The checks and the cache of the probe; tests replace it. */
export interface ProbeSurroundings {
  /** True if there is a Vulkan loader. */
  hasLoader(): boolean
  manifests(): readonly string[]
  fingerprint(manifests: readonly string[]): string | undefined
  look(): Promise<Answer>
}

const system: ProbeSurroundings = {
  hasLoader: () => keepLoaded('libvulkan.so.1'),
  manifests: () => driverManifests(),
  fingerprint: (manifests) => driverFingerprint(manifests),
  look: lookInChild,
}

export async function probeSystemDriver(surroundings: ProbeSurroundings = system): Promise<SystemDriver> {
  if (process.platform !== 'linux') return { adapter: 'unknown' }
  const manifests = surroundings.manifests()
  if (manifests.length === 0) return { adapter: 'none', whyNot: 'no GPU driver is installed' }
  if (!surroundings.hasLoader()) return { adapter: 'none', whyNot: 'the Vulkan loader (libvulkan.so.1) is missing' }
  const fingerprint = surroundings.fingerprint(manifests)
  const remembered = fingerprint && recall(fingerprint)
  if (remembered) return told(remembered)
  const answer = await surroundings.look()
  // A driver that did not answer may do so the next time.
  if (fingerprint && answer !== 'none') remember(fingerprint, answer)
  return told(answer)
}

function told(adapter: Answer): SystemDriver {
  return {
    adapter,
    whyNot: adapter === 'software' ? 'the only GPU driver is software' : 'no hardware GPU driver answered',
  }
}

function recall(fingerprint: string): Answer | undefined {
  try {
    const found = JSON.parse(readPrivateFile(MEMORY) ?? '{}') as { fingerprint?: string; adapter?: string }
    if (found.fingerprint !== fingerprint) return undefined
    return found.adapter === 'hardware' || found.adapter === 'software' ? found.adapter : undefined
  } catch {
    // Whatever is wrong with it, looking again gives the answer.
    return undefined
  }
}

function remember(fingerprint: string, adapter: Answer): void {
  try {
    writePrivateFile(MEMORY, JSON.stringify({ fingerprint, adapter }))
  } catch {
    // Then the next process looks again.
  }
}

export function hasDawn(): boolean {
  try {
    dawnFile()
    return true
  } catch {
    return false
  }
}

/** Asks for an adapter in a child process. A crash, and silence for too long, are no answer. */
function lookInChild(): Promise<Answer> {
  const module = dawnFile()
  const script = `
    const { create } = await import(${JSON.stringify(pathToFileURL(module).href)})
    const adapter = await create([]).requestAdapter({ powerPreference: 'high-performance' })
    process.exit(adapter ? (adapter.info.isFallbackAdapter ? 51 : 50) : 52)`
  return new Promise((settle) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: 'ignore',
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
      // Flags that a user sets for the process, such as a debugger's, are not for this one. In Electron it is to be Node.
      env: { ...process.env, NODE_OPTIONS: '', ELECTRON_RUN_AS_NODE: '1' },
    })
    child.on('error', () => settle('none'))
    child.on('exit', (code) => settle(ANSWERS[code ?? 0] ?? 'none'))
  })
}

/** Loads a shared library into the process permanently. Node reports that it is not a module, which is expected. */
export function keepLoaded(library: string): boolean {
  try {
    process.dlopen({ exports: {} }, library, RTLD_NOW | RTLD_NODELETE)
    return true
  } catch (error) {
    return !/cannot open shared object|no such file/i.test(String(error))
  }
}
