/** The reference says what the sources say: regenerated and compared, nothing left out, no default that is not so. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as door from '../../src/index.ts'
import { ROOT } from './markdown.ts'

const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')

/** The text under a heading of the reference. */
function entry(name: string): string {
  const start = page.indexOf(`\n### ${name}\n`)
  const end = page.indexOf('\n### ', start + 1)
  return start < 0 ? '' : page.slice(start, end < 0 ? undefined : end)
}

/** An option of an interface with all that is said about it. */
function option(of: string, name: string): string {
  const text = entry(of)
  const start = text.indexOf(`\n- \`${name}?\``)
  const end = text.indexOf('\n- `', start + 1)
  return start < 0 ? '' : text.slice(start, end < 0 ? undefined : end)
}

test('reference and report are what the sources say', () => {
  const { stderr, status } = spawnSync(process.execPath, ['scripts/reference.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  // Compilers of the whole tree, on whatever else the machine does.
}, 240_000)

/** Exported for the command line alone, which uses the library as everybody does. */
const INTERNAL = new Set(['meantName', 'nearestName'])

test.each(Object.entries(door).filter(([name]) => !INTERNAL.has(name)))('%s is in the reference', (name, value) => {
  const text = entry(name)
  expect(text).not.toBe('')
  if (typeof value === 'function') expect(text).toContain('```ts\n')
})

const methodOptions = Object.entries(door.METHODS).flatMap(([method, { options }]) =>
  options.map(({ name, fallback }) => ({ method, name, fallback })),
)

test.each(methodOptions)('the default of $name for $method is stated', ({ method, name, fallback }) => {
  const text = option('MethodOptions', name)
  expect(text).toContain(method)
  expect(text).toMatch(/Default/)
  const value = String(fallback).replace('.', '\\.')
  expect(text).toMatch(new RegExp(`(^|[\\s\`])${value}(?![\\d.]*\\d)`))
})

test.each(Object.entries(door.CLUSTER_DEFAULTS))('the default of %s is stated: %s', (name, value) => {
  const text = option('CommonOptions', name).replaceAll(/\s+/g, ' ')
  const said = value === Number.POSITIVE_INFINITY ? 'no limit' : String(value)
  expect(text.slice(text.indexOf('efault') - 30)).toContain(said)
})

test.each([
  'ClusterOptions',
  'MethodOptions',
  'QuantizerOptions',
  'PredictOptions',
  'CodeSearchOptions',
  'IndexOptions',
])('every option of %s has a default, is optional, or required', (name) => {
  const options = entry(name)
    .split(/\n- /)
    .slice(1)
    .filter((text) => /^`\w+\?`/.test(text))
  for (const text of options) expect(text).toMatch(/[Dd]efault|Optional|required/)
})
