/** Saving what has changed: any sequence of changes and saves, every fault of the disk, and processes that are killed. */
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LOCK_TIMING } from '../../src/data/folder-lock.ts'
import {
  CodeIndex,
  cluster,
  createRandom,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  openDevice,
  trainQuantizer,
} from '../../src/index.ts'
import { type Crash, failed, MemoryDisk, useDisk } from '../data/memory-disk.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { slanted } from '../quantize/checks.ts'

const path = temporaryFolder()
const COLS = 8
const ROWS = 200
const vectors = slanted(ROWS, COLS, 1)
const LIBRARY = new URL('../../dist/index.js', import.meta.url).href
const SCRIPT = fileURLToPath(new URL('./saving-index.mjs', import.meta.url))
const KILLS = Number(process.env.CENTROIDAL_KILLS ?? 4)
const timing = { ...LOCK_TIMING }

type Index = CodeIndex | InvertedFile
const KINDS = ['code index', 'inverted file', 'inverted file with vectors'] as const
type Kind = (typeof KINDS)[number]

let device: Device
let made: Record<Kind, () => Index>
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
  const model = await cluster(vectors, { k: 7, iterations: 2, device })
  const options = { type: 'pq', m: 4, codewords: 16, iterations: 2, device } as const
  const quantizer = await trainQuantizer(vectors, options)
  const plain = await InvertedFile.train(vectors, model, options)
  const keeping = await InvertedFile.train(vectors, model, { ...options, keep: 'bytes' })
  await keeping.save(path('empty.file'))
  const empty = { plain, keeping: () => InvertedFile.load(path('empty.file')) }
  const kept = await Promise.all(Array.from({ length: 60 }, empty.keeping))
  made = {
    'code index': () => new CodeIndex(quantizer),
    'inverted file': () => new InvertedFile(empty.plain.model, empty.plain.quantizer),
    'inverted file with vectors': () => kept.pop() as InvertedFile,
  }
})
afterAll(async () => {
  Object.assign(LOCK_TIMING, timing)
  await device.close()
})

const load = (kind: Kind, folder: string): Promise<Index> =>
  kind === 'code index' ? CodeIndex.load(folder) : InvertedFile.load(folder)

const some = (from: number, count: number): Matrix =>
  matrix(vectors.data.slice(from * COLS, (from + count) * COLS), count, COLS)

/** Everything in it, whatever the order within a list. */
function contentOf(index: Index): string {
  const { files, facts } = index.folderContents()
  const { size } = facts as { size: number }
  const data = (name: string): Uint8Array => files[name]?.[1] ?? new Uint8Array(0)
  const ids = new Uint32Array(data('ids.npy').slice().buffer)
  const parts = ['codes.npy', 'lists.npy', 'bytes.npy'].map((name) => ({
    bytes: data(name),
    width: data(name).length / Math.max(1, size),
  }))
  const rows = Array.from(ids, (id, i) => {
    const own = parts.map(({ bytes, width }) => bytes.subarray(i * width, (i + 1) * width).join())
    return `${id}: ${own.join(' | ')}`
  })
  if (index instanceof InvertedFile) rows.sort()
  return rows.join('\n')
}

describe.each(KINDS)('%s', (kind) => {
  test('any sequence of changes and saves loads as what it is', async () => {
    const random = createRandom(11)
    const folder = path(`sequence ${kind}`)
    let index = made[kind]()
    await index.add(vectors, { device })
    let alive = Array.from(index.ids)
    let changes = 0
    for (let step = 0; step < 60; step++) {
      const removed = alive.filter(() => random.below(40) === 0)
      index.remove(removed)
      alive = alive.filter((id) => !removed.includes(id))
      const count = random.below(5)
      // Some come back under an id that was removed.
      const ids = Array.from({ length: count }, (_, i) => (i < removed.length ? removed[i] : 10_000 + step * 10 + i))
      if (count > 0) await index.add(some(random.below(ROWS - 5), count), { ids, device })
      alive.push(...ids)
      if (random.below(4) === 0) continue
      await index.save(folder)
      const names = readdirSync(folder)
      if (names.some((name) => /-\d+\.npy$/.test(name))) changes++
      expect(names.length).toBeLessThan(60)
      const loaded = await load(kind, folder)
      expect(contentOf(loaded)).toBe(contentOf(index))
      expect(loaded.size).toBe(alive.length)
      // One that was loaded goes on from there.
      if (random.below(3) === 0) index = loaded
    }
    // Most saves wrote changes, and now and then everything.
    expect(changes).toBeGreaterThan(10)
  })

  test('a save of a few changes leaves the other files as they are', async () => {
    const folder = path(`few ${kind}`)
    const index = made[kind]()
    await index.add(vectors, { device })
    await index.save(folder)
    const facts = (name: string) => statSync(join(folder, name))
    const before = facts('codes.npy')
    index.remove([3, 4])
    await index.add(some(0, 3), { device })
    await index.save(folder)
    expect(facts('codes.npy').ino).toBe(before.ino)
    const names = readdirSync(folder).filter((name) => /-1\.npy$/.test(name))
    expect(names).toContain('removed-1.npy')
    const bytes = names.reduce((sum, name) => sum + facts(name).size - 128, 0)
    expect(bytes).toBeLessThan(before.size / 2)
    // A save that does not know what the folder holds writes everything.
    const other = await load(kind, folder)
    await other.save(path(`elsewhere ${kind}`))
    expect(readdirSync(path(`elsewhere ${kind}`)).some((name) => /-\d/.test(name))).toBe(false)
    await index.save(folder)
    await other.save(folder)
    expect(contentOf(await load(kind, folder))).toBe(contentOf(index))
    expect(readdirSync(folder).some((name) => /-\d/.test(name))).toBe(false)
  })

  test('a file that has gone or changed its size is written again', async () => {
    const folder = path(`damaged ${kind}`)
    const index = made[kind]()
    await index.add(vectors, { device })
    await index.save(folder)
    const { rmSync } = await import('node:fs')
    rmSync(join(folder, 'codes.npy'))
    index.remove([1])
    await index.save(folder)
    expect(contentOf(await load(kind, folder))).toBe(contentOf(index))
  })

  test.each(['kill', 'power', 'data'] as Crash[])('%s after any operation of a save of changes', async (how) => {
    Object.assign(LOCK_TIMING, { unnamed: 2, poll: 1 })
    const base = made[kind]()
    await base.add(vectors, { device })
    const seen = new Set<string>()
    for (let stop = 0; !seen.has('done'); stop++) {
      const disk = new MemoryDisk()
      await useDisk(disk, async () => {
        await base.save('/one/index')
        const index = await load(kind, '/one/index')
        // Two saves of changes: the second takes the files of the first with it, or lets them be.
        index.remove([7])
        await index.save('/one/index')
        const old = contentOf(index)
        index.remove(stop % 2 ? [8, 9, 10] : [8])
        await index.add(some(0, 4), { device })
        const wanted = contentOf(index)
        let done = 0
        disk.before = () => {
          if (done++ >= stop) throw failed('ECRASHED')
        }
        await index.save('/one/index').catch(() => {})
        disk.before = () => {}
        disk.crash(how)
        const found = await load(kind, '/one/index')
        const state = contentOf(found) === old ? 'old' : contentOf(found) === wanted ? 'new' : 'neither'
        seen.add(done > stop ? `crashed ${state}` : 'done')
        // Both who lived through it, and who comes after, can go on.
        const next = stop % 3 ? index : found
        next.remove([20])
        await next.save('/one/index')
        expect(contentOf(await load(kind, '/one/index'))).toBe(contentOf(next))
        expect(disk.list('/one/index').filter((name) => name.includes('saving'))).toEqual([])
      })
    }
    expect([...seen].sort()).toEqual(['crashed new', 'crashed old', 'done'])
    Object.assign(LOCK_TIMING, timing)
  })
})

describe.each(['whole', 'changes'] as const)('a process that is killed while it saves %s', (how) => {
  test.each(['code index', 'inverted file'] as const)('leaves the old %s or the new one', async (kind) => {
    const name = kind === 'code index' ? 'start.codes' : 'start.file'
    const start = path(`${how}-${name}`)
    const index = made[kind]()
    await index.add(vectors, { device })
    await index.save(start)
    // What every step leaves, without any save.
    const states = [contentOf(index)]
    for (let step = 1; step < 200; step++) {
      const count = 1 + (step % 7)
      const data = Float32Array.from({ length: count * COLS }, (_, i) => Math.sin(step * 31 + i))
      await index.add(matrix(data, count, COLS), {
        ids: Array.from({ length: count }, (_, i) => 1000 + step * 10 + i),
        device,
      })
      index.remove([step, 1000 + (step - 1) * 10])
      states.push(contentOf(index))
    }
    const random = createRandom(KILLS)
    for (let kill = 0; kill < KILLS; kill++) {
      const folder = path(`killed ${how} ${kind} ${kill}`)
      const child = spawn(process.execPath, [SCRIPT, LIBRARY, start, folder, how], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = -1
      const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
      await new Promise<void>((resolve) => {
        child.stdout.on('data', (text: Buffer) => {
          for (const [, step] of text.toString().matchAll(/saved (\d+)/g)) said = Number(step)
          resolve()
        })
      })
      setTimeout(() => child.kill('SIGKILL'), random.below(400))
      const signal = await ended
      const found = contentOf(await load(kind, folder))
      const at = states.indexOf(found)
      expect(at, `killed after step ${said}`).toBeGreaterThanOrEqual(0)
      expect([said, said + 1]).toContain(at)
      expect(signal).toBe('SIGKILL')
      const again = await load(kind, folder)
      again.remove([150])
      await again.save(folder)
      expect(contentOf(await load(kind, folder))).toBe(contentOf(again))
      expect(readdirSync(folder).filter((file) => file.startsWith('.'))).toEqual([])
    }
  })
})
