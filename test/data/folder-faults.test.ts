/** Every operation of a save fails once, or is the last before a crash: the folder is the old save or the new one. */
import { beforeAll, describe, expect, test } from 'vitest'
import { LOCK_TIMING } from '../../src/data/folder-lock.ts'
import { CentroidalError, type Device, openDevice } from '../../src/index.ts'
import { type Crash, failed, MemoryDisk, useDisk } from './memory-disk.ts'
import { type SavedKind, savedKinds } from './saved-kinds.ts'

const FOLDER = '/saves/one'
/** More operations than any save has. */
const ENDLESS = 500

let kinds: SavedKind[]
beforeAll(async () => {
  // A crash may leave a lock without a name, for which the next save waits.
  Object.assign(LOCK_TIMING, { unnamed: 2, poll: 1 })
  const device: Device = await openDevice({ kind: 'cpu', threads: 1 })
  kinds = await savedKinds(device)
  await device.close()
})

const NAMES = [
  'model',
  'model with a tree over a mixture',
  'quantizer',
  'code index',
  'inverted file',
  'image index',
  'folder of the command line',
]

const kindOf = (name: string): SavedKind => {
  const found = kinds.find((kind) => kind.name === name)
  if (found === undefined) throw new Error(`no kind ${name}`)
  return found
}

/** Files of a folder into which only the new save went. */
async function cleanFiles(kind: SavedKind, which: 'old' | 'new'): Promise<string[]> {
  const disk = new MemoryDisk()
  await useDisk(disk, () => kind.save(which, FOLDER))
  return disk.list(FOLDER)
}

/** Runs work until `stop` operations are done; says whether there were more. */
async function upTo(disk: MemoryDisk, stop: number, work: () => Promise<void>): Promise<boolean> {
  let done = 0
  disk.before = () => {
    if (done++ >= stop) throw failed('ECRASHED')
  }
  await work().catch(() => {})
  disk.before = () => {}
  return done > stop
}

describe.each(NAMES)('%s', (name) => {
  test.each(['kill', 'power', 'data'] as Crash[])('%s after any operation', async (how) => {
    const kind = kindOf(name)
    const clean = await cleanFiles(kind, 'new')
    const seen = new Set<string>()
    for (let stop = 0; stop < ENDLESS; stop++) {
      const disk = new MemoryDisk()
      await useDisk(disk, async () => {
        await kind.save('old', FOLDER)
        const crashed = await upTo(disk, stop, () => kind.save('new', FOLDER))
        disk.crash(how)
        const found = await kind.load(FOLDER)
        expect(crashed ? ['old', 'new'] : ['new'], `${how} after ${stop}`).toContain(found)
        await kind.loadParts?.(FOLDER)
        seen.add(crashed ? `crashed ${found}` : 'done')
        // Stopped once more while the next save is cleaning up, and then left alone.
        await upTo(disk, stop % 13, () => kind.save('old', FOLDER))
        disk.crash(how)
        expect(['old', 'new']).toContain(await kind.load(FOLDER))
        await kind.save('new', FOLDER)
        expect(await kind.load(FOLDER)).toBe('new')
        expect(disk.list(FOLDER)).toEqual(clean)
      })
      if (seen.has('done')) break
    }
    expect([...seen].sort()).toEqual(['crashed new', 'crashed old', 'done'])
  })

  test('an error at any operation', async () => {
    const kind = kindOf(name)
    const clean = { old: await cleanFiles(kind, 'old'), new: await cleanFiles(kind, 'new') }
    let failures = 0
    for (let at = 0; ; at++) {
      const disk = new MemoryDisk()
      let done = 0
      const hit = await useDisk(disk, async () => {
        await kind.save('old', FOLDER)
        disk.before = () => {
          if (done++ === at) throw failed('EIO')
        }
        const error = await kind.save('new', FOLDER).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        disk.before = () => {}
        if (error !== undefined) expect(error).toBeInstanceOf(CentroidalError)
        const found = await kind.load(FOLDER)
        if (error === undefined) expect(found).toBe('new')
        // A save that failed before the switch leaves nothing behind.
        if (found === 'old') expect(disk.list(FOLDER), `failed at ${at}`).toEqual(clean.old)
        failures += error === undefined ? 0 : 1
        await kind.save('new', FOLDER)
        expect(disk.list(FOLDER)).toEqual(clean.new)
        return done > at
      })
      if (!hit) break
    }
    expect(failures).toBeGreaterThan(10)
  })

  test('a first save that fails leaves no folder', async () => {
    const kind = kindOf(name)
    for (let at = 0; ; at++) {
      const disk = new MemoryDisk()
      let done = 0
      await useDisk(disk, async () => {
        disk.before = () => {
          if (done++ === at) throw failed('ENOSPC')
        }
        const failure = await kind.save('new', FOLDER).catch((error: unknown) => error)
        disk.before = () => {}
        if (failure === undefined) expect(await kind.load(FOLDER)).toBe('new')
        else if (disk.list('/').some((path) => path.endsWith('.json'))) expect(await kind.load(FOLDER)).toBe('new')
        else expect(disk.list('/')).toEqual([])
      })
      if (done <= at) break
    }
  })
})
