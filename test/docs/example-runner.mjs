/**
 * Runs modules one after the other, each in the folder it lies in, and writes what became of each to a file:
 * node example-runner.mjs results.jsonl module.mjs ... One process for all, as starting one takes longer than most
 * examples do.
 */
import { appendFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'

const [results, ...modules] = process.argv.slice(2)

globalThis.expectValue = (actual, expected, place) => {
  if (!isSame(plain(actual), expected)) {
    throw new Error(`${place} says ${JSON.stringify(expected)} and it is ${JSON.stringify(plain(actual))}`)
  }
}

const plain = (value) => (ArrayBuffer.isView(value) ? Array.from(value) : value)

/** Numbers as far as they are written out: 0.667 is two thirds, 3 is 3. */
function isSame(actual, expected) {
  if (typeof actual !== 'number' || typeof expected !== 'number' || Number.isInteger(expected)) {
    return isDeepStrictEqual(actual, expected)
  }
  const digits = String(expected).split('.')[1].length
  return Math.abs(actual - expected) <= 0.5 * 10 ** -digits + 1e-12
}

for (const module of modules) {
  process.chdir(dirname(module))
  const began = performance.now()
  let error
  try {
    // A module in CommonJS exports a promise.
    await (await import(pathToFileURL(module).href)).default
  } catch (thrown) {
    error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  }
  appendFileSync(results, `${JSON.stringify({ module, error, seconds: (performance.now() - began) / 1000 })}\n`)
}
process.exit(0)
