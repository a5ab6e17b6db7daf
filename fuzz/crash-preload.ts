/**
 * Loaded before the command line (node --import): counts operations on files under one folder, and at a given count
 * kills the process, or fails as a full disk does. Settings come in environment variables.
 */
import { writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { resolve } from 'node:path'

const under = process.env.CENTROIDAL_CRASH_UNDER ?? '/nowhere'
const at = Number(process.env.CENTROIDAL_CRASH_AT ?? Number.POSITIVE_INFINITY)
const mode = process.env.CENTROIDAL_CRASH_MODE ?? 'kill'
const countFile = process.env.CENTROIDAL_CRASH_COUNT

const require = createRequire(import.meta.url)
type AnyFunction = (...args: unknown[]) => unknown
const files = require('node:fs/promises') as Record<string, AnyFunction>
const sync = require('node:fs') as Record<string, AnyFunction>

let count = 0
const handles = new WeakSet<object>()

const inside = (path: unknown): boolean =>
  (typeof path === 'string' || path instanceof URL) && resolve(String(path)).startsWith(under)

/** True where the disk is to be full from here on. */
function step(writes: boolean): boolean {
  count++
  if (mode === 'kill' && count === at) process.kill(process.pid, 'SIGKILL')
  return mode === 'full' && writes && count >= at
}

function noSpace(): Error {
  return Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    errno: -28,
    syscall: 'write',
  })
}

/** Operations that need space on the disk. */
const WRITING = new Set(['writeFile', 'appendFile', 'copyFile', 'mkdir', 'mkdtemp', 'open'])
const NAMES = ['rename', 'unlink', 'rm', 'rmdir', 'link', 'symlink', 'truncate', 'cp', ...WRITING]

for (const name of NAMES) {
  const original = files[name]
  if (original === undefined) continue
  files[name] = async (...args: unknown[]) => {
    const counted = inside(args[0]) && (name !== 'open' || /[wax+]/.test(String(args[1] ?? 'r')) || Number(args[1]) > 0)
    if (counted && step(WRITING.has(name))) throw noSpace()
    const result = await original(...args)
    if (name === 'open' && inside(args[0])) handles.add(result as object)
    return result
  }
  const now = `${name}Sync`
  const originalSync = sync[now]
  if (name === 'open' || originalSync === undefined) continue
  sync[now] = (...args: unknown[]) => {
    if (inside(args[0]) && step(WRITING.has(name))) throw noSpace()
    return originalSync(...args)
  }
}

/** Handles share one prototype, which only an open file shows. */
const probe = (await (files.open as (path: string) => Promise<FileHandle>)(process.execPath)) as FileHandle
const prototype = Object.getPrototypeOf(probe) as Record<string, AnyFunction>
await probe.close()
for (const name of ['write', 'writev', 'writeFile', 'appendFile', 'truncate', 'datasync', 'sync']) {
  const original = prototype[name]
  prototype[name] = async function (this: object, ...args: unknown[]) {
    if (handles.has(this)) {
      const bytes = args[0]
      if (mode === 'kill' && count + 1 === at && name === 'write' && bytes instanceof Uint8Array && bytes.length > 1) {
        // Half of it has reached the file.
        await original.call(this, bytes, 0, bytes.length >> 1)
      }
      if (step(name.startsWith('write') || name === 'appendFile')) throw noSpace()
    }
    return original.apply(this, args)
  }
}
syncBuiltinESMExports()

if (countFile !== undefined) process.on('exit', () => writeFileSync(countFile, String(count)))
