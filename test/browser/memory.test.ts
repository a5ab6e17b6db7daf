/** What pages and workers remember: the same, and nothing where there is no storage. */
import { afterEach, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import { rememberedTuning, rememberTuning } from '../../src/device/remembered-tuning.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

test('a worker recalls what a page remembers, and the other way round', async () => {
  await platform.remember('of-a-page', 'from a page')
  const worker = new Worker(new URL('./memory-worker.ts', import.meta.url), { type: 'module' })
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = (event) => reject(new Error(event.message))
  })
  worker.postMessage({ recall: 'of-a-page', remember: 'of-a-worker' })
  expect(await answer).toBe('from a page')
  expect(await platform.recall('of-a-worker')).toBe('from a worker')
  expect(await platform.recall('of-nobody')).toBeUndefined()
  worker.terminate()
})

test.each([
  ['is absent', undefined],
  ['is refused', { open: () => Promise.reject(new DOMException('denied', 'SecurityError')) }],
])('nothing is remembered where storage %s, and nothing fails', async (_, caches) => {
  vi.stubGlobal('caches', caches)
  expect(await rememberTuning('a GPU', { exact: 64 })).toBe(false)
  expect(await rememberedTuning('a GPU')).toEqual({})
})

test('tuning is remembered in a page', async () => {
  expect(await rememberTuning('a GPU', { exact: 64, forms: { assign: 'scalar' } })).toBe(true)
  expect(await rememberedTuning('a GPU')).toEqual({ exact: 64, forms: { assign: 'scalar' } })
})
