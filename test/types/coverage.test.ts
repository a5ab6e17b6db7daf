/** Every public function and class has calls that compile, and calls that must not: calls.ts and data-calls.ts. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as library from '../../src/index.ts'

/** For the command line alone. */
const INTERNAL = ['meantName', 'nearestName']

test('every public function is among the type tests', () => {
  const text = ['calls.ts', 'data-calls.ts'].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8')).join()
  const functions = Object.entries(library).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  const missing = functions.filter((name) => !new RegExp(`library\\.${name}\\b`).test(text))
  expect(missing).toEqual(INTERNAL)
})
