import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { ROOT } from './installed-package.ts'

const path = temporaryFolder()
const licenses = (...args: string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'scripts/licenses.mjs'), ...args], { encoding: 'utf8' })

test('every dependency has a permissive licence', () => {
  const { status, stdout, stderr } = licenses()
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const lines = stdout.trim().split('\n')
  for (const [name, version] of Object.entries(dependencies)) {
    expect(lines.filter((line) => line.startsWith(`${name}\t${version}\t`))).toHaveLength(1)
  }
  expect(lines.filter((line) => line.startsWith('vitest\t'))).toEqual([])
})

describe('a licence', () => {
  test.each([
    ['GPL-3.0-only', 1],
    [undefined, 1],
    ['MIT AND GPL-3.0-only', 1],
    ['(MIT OR GPL-3.0-only)', 0],
    ['MIT', 0],
  ])('%s: exit %i', (license, expected) => {
    const packages = { '': {}, 'node_modules/thing': { version: '1.2.3', license }, 'node_modules/d': { dev: true } }
    writeFileSync(path('package-lock.json'), JSON.stringify({ packages }))
    const { status, stdout, stderr } = licenses(path('.'))
    expect(status).toBe(expected)
    expect(stdout).toMatch(/^thing\t1\.2\.3\t/)
    expect(stderr).toMatch(expected === 0 ? /^$/ : /^Not permissive: thing \(/)
  })
})
