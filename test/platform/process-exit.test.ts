/** A process that leaves its devices to the library ends by itself, at once, and hears nothing of drivers. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../data/temporary-folder.ts'

const LIBRARY = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
const path = temporaryFolder()

/** Less than the time that an idle device stays open, which is five seconds. */
const SOON_MS = 2500

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** From the last word of the process to its end. */
  readonly exitMs: number
}

function run(script: string, env: Record<string, string> = {}): Promise<Ended> {
  if (!existsSync(LIBRARY)) throw new Error('dist/index.js is missing: node scripts/build.mjs makes it')
  const text = `import { blobs, cluster, clusterSteps, nearest, trainQuantizer } from ${JSON.stringify(pathToFileURL(LIBRARY).href)}
    const { vectors } = blobs({ rows: 200, cols: 2, clusters: 4, seed: 1 })
    ${script}
    console.log('done')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    env: { ...process.env, NODE_OPTIONS: '', XDG_CACHE_HOME: path('cache'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  })
  let stdout = ''
  let stderr = ''
  let last = performance.now()
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece
    last = performance.now()
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
  })
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr, exitMs: performance.now() - last }))
  })
}

test.each([
  ['one call', "await cluster(vectors, { k: 4 })"],
  ['many calls', 'for (let i = 0; i < 100; i++) await cluster(vectors, { k: 4, seed: i })'],
  ['calls at the same time', 'await Promise.all([1, 2, 3].map((seed) => cluster(vectors, { k: 4, seed })))'],
  ['a search', 'await nearest(vectors, vectors, { m: 3 })'],
  ['a quantizer', "await trainQuantizer(vectors, { type: 'pq', m: 1, codewords: 8 })"],
  ['several devices', "for (const threads of [1, 2, 3]) await cluster(vectors, { k: 4, device: { kind: 'cpu', threads } })"],
  ['the calling thread alone', "await cluster(vectors, { k: 4, device: { kind: 'cpu', shared: false } })"],
  ['a software GPU', "await cluster(vectors, { k: 4, device: 'webgpu' })"],
  ['work that more threads came to share', 'await cluster(blobs({ rows: 50_000, cols: 64, clusters: 200 }).vectors, { k: 200, iterations: 5 })'],
  ['steps that were left', 'for await (const step of clusterSteps(vectors, { k: 4 })) break'],
  ['a call that failed', 'await cluster(vectors, { k: 4, onIteration: () => { throw new Error("stop") } }).catch(() => {})'],
])('after %s', async (_, script) => {
  const { code, stdout, stderr, exitMs } = await run(script)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' })
  // Who asks for a software GPU may hear it.
  if (!script.includes('webgpu')) expect(stderr).toBe('')
  expect(exitMs).toBeLessThan(SOON_MS)
}) // biome-ignore format: a table

test('a call holds the process until it is done', async () => {
  const { code, stdout } = await run(`
    cluster(vectors, { k: 4 }).then(() => cluster(vectors, { k: 3 })).then((model) => console.log(model.sizes.length))`)
  expect(code).toBe(0)
  expect(stdout).toBe('done\n3\n')
})
