/**
 * One save at a time into a folder: a file that only one process can make. Whoever finds it waits while its maker is
 * alive, and takes over when it is not. Readers do not care for it.
 */
import { CentroidalError } from '../core/errors.ts'
import type { Disk } from '../platform/contract.ts'

export const LOCK_NAME = '.saving.lock'

/** In milliseconds. Tests shorten them. */
export const LOCK_TIMING = {
  /** How often the holder shows that it is alive. */
  heartbeat: 2_000,
  /** A holder without a sign of life for this long is considered dead. */
  silence: 30_000,
  /** The same for a holder that has not written its name, which it does immediately. */
  unnamed: 3_000,
  /** How long to wait for one that is alive. */
  patience: 120_000,
  /** How often to look. */
  poll: 20,
}

/** Locks of this thread: a lock that says it is, and is not here, was left by an earlier process of the same number. */
const held = new Set<string>()

interface Holder {
  readonly pid: number
  readonly thread: number
  readonly host: string
  readonly started: string
  readonly token: string
}

export interface FolderLock {
  /** Fails if another process took over the lock, because this one gave no sign of life for too long. */
  check(): Promise<void>
  release(): Promise<void>
}

/** The folder has to be there; fails with ENOENT if it is not. */
export async function lockFolder(disk: Disk, folder: string): Promise<FolderLock> {
  const path = `${folder}/${LOCK_NAME}`
  const began = Date.now()
  let seen = { mark: '', since: began }
  for (;;) {
    const token = await made(disk, path)
    if (token !== undefined) return holdLock(disk, folder, path, token)
    const found = await look(disk, path)
    if (found === undefined) continue
    const now = Date.now()
    // Clocks of two machines differ, so what counts is how long the file was not touched, by the clock of this one.
    if (found.mark !== seen.mark) seen = { mark: found.mark, since: now }
    const { holder } = found
    const silence = holder ? LOCK_TIMING.silence : LOCK_TIMING.unnamed
    if ((holder && !(await isAlive(disk, holder))) || now - seen.since > silence) {
      await takeAway(disk, path, holder)
      continue
    }
    if (now - began > LOCK_TIMING.patience) {
      const who = holder ? ` (process ${holder.pid} on ${holder.host.split(' ')[0]})` : ''
      throw new CentroidalError(
        'bad-file',
        `Cannot save to ${JSON.stringify(folder)}: another process${who} has been saving to it for ${Math.round(LOCK_TIMING.patience / 1000)} s; wait for it, or save to another folder.`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_TIMING.poll))
  }
}

/** Undefined if there is a lock already. */
async function made(disk: Disk, path: string): Promise<string | undefined> {
  const token = randomHex()
  const holder: Holder = { ...(await disk.self()), started: new Date().toISOString(), token }
  const bytes = new TextEncoder().encode(`${JSON.stringify(holder)}\n`)
  let file: Awaited<ReturnType<Disk['open']>>
  try {
    file = await disk.open(path, 'wx')
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return undefined
    throw error
  }
  held.add(token)
  try {
    await file.write(bytes, 0, bytes.length)
    await file.close()
    return token
  } catch (error) {
    held.delete(token)
    await file.close().catch(() => {})
    await disk.unlink(path).catch(() => {})
    throw error
  }
}

/** Undefined if the lock has gone. A holder that is not readable yet is about to write its name. */
async function look(disk: Disk, path: string): Promise<{ holder: Holder | undefined; mark: string } | undefined> {
  try {
    const { mtimeMs } = await disk.lstat(path)
    const holder = holderIn(await textOf(disk, path))
    return { holder, mark: `${holder?.token} ${mtimeMs}` }
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw error
  }
}

async function textOf(disk: Disk, path: string): Promise<string> {
  return new TextDecoder().decode(await disk.read(path))
}

function holderIn(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null
    const whole = Number.isInteger(holder?.pid) && typeof holder?.host === 'string' && typeof holder.token === 'string'
    return whole ? (holder as Holder) : undefined
  } catch {
    return undefined
  }
}

/** On another machine this is unknown: only the time since the last sign of life decides. */
async function isAlive(disk: Disk, holder: Holder): Promise<boolean> {
  const own = await disk.self()
  if (holder.host !== own.host) return true
  if (holder.pid !== own.pid) return disk.isRunning(holder.pid)
  return holder.thread !== own.thread || held.has(holder.token)
}

/** Two may find the same dead holder: the slower one could otherwise remove the lock of the faster one. */
async function takeAway(disk: Disk, path: string, holder: Holder | undefined): Promise<void> {
  const aside = `${path}-${randomHex()}`
  try {
    await disk.rename(path, aside)
    if (holderIn(await textOf(disk, aside))?.token !== holder?.token) await disk.rename(aside, path)
    else await disk.unlink(aside)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
}

function holdLock(disk: Disk, folder: string, path: string, token: string): FolderLock {
  const timer = setInterval(() => {
    disk.touch(path).catch(() => {})
  }, LOCK_TIMING.heartbeat)
  ;(timer as { unref?: () => void }).unref?.()
  const isOurs = async (): Promise<boolean> => (await look(disk, path))?.holder?.token === token
  return {
    async check() {
      if (await isOurs()) return
      throw new CentroidalError(
        'bad-file',
        `Cannot save to ${JSON.stringify(folder)}: this process was suspended, and another one saved to the folder meanwhile; save again.`,
      )
    },
    async release() {
      clearInterval(timer)
      held.delete(token)
      // A lock that cannot be removed is that of a dead process soon.
      if (await isOurs().catch(() => false)) await disk.unlink(path).catch(() => {})
    },
  }
}

export function randomHex(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
