/** The programs the benchmarks compare with, where they are installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A Python that can import a module (Debian's python3-faiss and python3-sklearn belong to /usr/bin/python3). */
export const pythonWith = (module: string): string | undefined => pythonThatRuns(`import ${module}`)

/** A Python that finds FLANN's C library: Debian has no binding of it for Python 3. */
export const pythonWithFlann = (): string | undefined =>
  pythonThatRuns('import ctypes, numpy; ctypes.CDLL("libflann.so.1.9")')

function pythonThatRuns(statement: string): string | undefined {
  return ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', statement], { stdio: 'ignore' }).status === 0,
  )
}

/** Runs a script of bench/peers with arguments and reads the JSON it prints. */
export function runPython<T>(python: string, script: string, args: readonly (string | number)[]): T {
  const out = execFileSync(python, [`bench/peers/${script}`, ...args.map(String)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  return JSON.parse(out) as T
}

/** A package of bench/peers (npm --prefix bench/peers ci), or undefined. */
export async function peerPackage<T>(name: string): Promise<T | undefined> {
  const folder = resolve('bench/peers/package.json')
  if (!existsSync(resolve('bench/peers/node_modules'))) return undefined
  try {
    return (await import(pathToFileURL(createRequire(folder).resolve(name)).href)) as T
  } catch {
    return undefined
  }
}

export const PEERS_HINT =
  'Peers come from: apt-get install python3-faiss python3-sklearn libflann1.9; npm --prefix bench/peers ci. What is not there is left out.'
