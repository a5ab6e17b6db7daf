/**
 * The first cases of all areas of fuzzing, with the seed of this run. CENTROIDAL_TEST_SEED repeats it; `npm run fuzz` goes
 * on for longer.
 */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, inject, test } from 'vitest'
import { AREAS } from '../../fuzz/areas.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SEED = inject('testSeed')

/** Areas whose cases take milliseconds get more of them. */
const QUICK = ['options', 'readers', 'bitflips', 'folders']
const others = AREAS.map(({ name }) => name).filter((name) => !QUICK.includes(name))

test.each([
  [200, QUICK],
  [20, others],
])(`no case fails with seed ${SEED}: %i of each of %s`, { timeout: 240_000 }, async (cases, areas) => {
  // One process: other tests run beside it.
  const chosen = ['--area', areas.join(','), '--each', String(cases), '--seed', String(SEED), '--processes', '1']
  const { code, stdout, stderr } = await new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    execFile(
      process.execPath,
      ['scripts/fuzz.mjs', ...chosen],
      { cwd: ROOT, maxBuffer: 1 << 26 },
      (error, out, err) => {
        done({ code: error ? Number(error.code ?? 1) : 0, stdout: out, stderr: err })
      },
    )
  })
  const failures = stdout.split('\n').filter((line) => /^\w+: |npm run fuzz/.test(line))
  expect(failures, stderr).toEqual([])
  expect(code, stderr).toBe(0)
  const rows = stdout.split('\n').filter((line) => line.startsWith('|') && !/^\| (area|all|---) |^\|---/.test(line))
  expect(rows.map((row) => Number(row.split('|')[2]))).toEqual(areas.map(() => cases))
})
