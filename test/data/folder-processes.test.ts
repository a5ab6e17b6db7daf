/** Processes that save to and load from the same folder at the same time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { LOCK_NAME, LOCK_TIMING, lockFolder } from '../../src/data/folder-lock.ts'
import { blobs, cluster, loadModel, readSavedText } from '../../src/index.ts'
import { disk } from '../../src/platform/disk.ts'
import { temporaryFolder } from './temporary-folder.ts'

const LIBRARY = new URL('../../dist/index.js', import.meta.url).href
const SCRIPT = fileURLToPath(new URL('./saving-process.mjs', import.meta.url))
const path = temporaryFolder()
const { vectors } = blobs({ rows: 4000, cols: 8, clusters: 5 })

beforeAll(async () => {
  for (const k of [3, 5]) await (await cluster(vectors, { k, iterations: 1, device: 'cpu' })).save(path(`model-${k}`))
})

const timing = { ...LOCK_TIMING }
afterEach(() => {
  Object.assign(LOCK_TIMING, timing)
})

async function startSaving(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SCRIPT, LIBRARY, folder, path('model-3'), path('model-5')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  return child
}

test('a reader beside two writers is never refused; after a kill the folder is whole, and the next save tidies it', async () => {
  const folder = path('shared')
  await (await loadModel(path('model-3'))).save(folder, { files: { 'notes.txt': '0' } })
  const writers = await Promise.all([startSaving(folder), startSaving(folder)])
  const ended = Promise.all(
    writers.map((child) => new Promise((resolve) => child.once('exit', (code) => resolve(code)))),
  )
  const seen = new Set<number>()
  let loads = 0
  for (const end = Date.now() + 2000; Date.now() < end; loads++) {
    const model = await loadModel(folder)
    expect(model.labels.every((label) => label < model.facts.k)).toBe(true)
    seen.add(model.facts.k)
    expect(['0', '1']).toContain(await readSavedText(folder, 'notes.txt'))
  }
  for (const child of writers) child.kill('SIGKILL')
  // Neither of them ended by itself, with an error.
  expect(await ended).toEqual([null, null])
  expect([...seen].sort()).toEqual([3, 5])
  expect(loads).toBeGreaterThan(10)
  const { facts } = await loadModel(folder)
  expect(await readSavedText(folder, 'notes.txt')).toBe(facts.k === 3 ? '0' : '1')
  const began = Date.now()
  await (await loadModel(path('model-5'))).save(folder)
  expect(Date.now() - began).toBeLessThan(timing.silence)
  expect(readdirSync(folder).sort()).toEqual(['centers.npy', 'labels.npy', 'model.json'])
})

test('who holds the lock is waited for while it is alive', async () => {
  const lock = await lockFolder(disk, path('model-3'))
  const order: string[] = []
  const next = lockFolder(disk, path('model-3')).then(async (other) => {
    order.push('taken')
    await other.release()
  })
  await new Promise((resolve) => setTimeout(resolve, 60))
  order.push('released')
  await lock.check()
  await lock.release()
  await next
  expect(order).toEqual(['released', 'taken'])
  expect(readdirSync(path('model-3'))).not.toContain(LOCK_NAME)
})

test('a live holder is not waited for endlessly', async () => {
  Object.assign(LOCK_TIMING, { patience: 50 })
  const lock = await lockFolder(disk, path('model-3'))
  await expect(lockFolder(disk, path('model-3'))).rejects.toThrow(
    /Cannot save to ".*": another process \(process \d+ on .*\) has been saving to it for 0 s; wait for it/,
  )
  await lock.release()
})

test.each([
  ['a process that has ended', { pid: 2 ** 22 + 1 }, 0],
  ['an earlier process of the same number', {}, 0],
  ['a silent process of another machine', { host: 'elsewhere' }, 80],
])('the lock of %s is taken over', async (_, other, wait) => {
  Object.assign(LOCK_TIMING, { silence: 80, poll: 5 })
  const holder = { ...(await disk.self()), started: '', token: 'x', ...other }
  writeFileSync(path(`model-3/${LOCK_NAME}`), JSON.stringify(holder))
  const began = Date.now()
  const lock = await lockFolder(disk, path('model-3'))
  expect(Date.now() - began).toBeGreaterThanOrEqual(wait)
  // Whoever lost the lock notices before it replaces anything.
  writeFileSync(path(`model-3/${LOCK_NAME}`), JSON.stringify({ ...holder, token: 'y' }))
  await expect(lock.check()).rejects.toThrow(/another one saved to the folder meanwhile; save again/)
  await lock.release()
  expect(readdirSync(path('model-3'))).toContain(LOCK_NAME)
})
