/**
 * All areas of fuzzing for a minute, with a fresh seed each time. CENTROIDAL_FUZZ_SEED repeats a run,
 * CENTROIDAL_FUZZ_SECONDS makes it shorter or longer.
 */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const SECONDS = Number(process.env.CENTROIDAL_FUZZ_SECONDS ?? 60)
const SEED = process.env.CENTROIDAL_FUZZ_SEED ?? String(Math.floor(Math.random() * 2 ** 31))
/** For cases that were begun when the time was up. */
const MARGIN_SECONDS = 120

test(`no generated case fails (seed ${SEED})`, { timeout: (SECONDS + MARGIN_SECONDS) * 1000 }, async () => {
  const args = ['scripts/fuzz.mjs', '--seconds', String(SECONDS), '--seed', SEED]
  const { code, stdout, stderr } = await new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    execFile(process.execPath, args, { cwd: ROOT, maxBuffer: 1 << 26 }, (error, out, err) => {
      done({ code: error ? Number(error.code ?? 1) : 0, stdout: out, stderr: err })
    })
  })
  console.log(stdout)
  const failures = stdout.split('\n').filter((line) => /^\w+: |npm run fuzz/.test(line))
  expect(failures, stderr).toEqual([])
  expect(code, stderr).toBe(0)
  // Every area had its turn.
  const rows = stdout.split('\n').filter((line) => line.startsWith('|') && !/^\| (area|all|---)|^\|---/.test(line))
  expect(rows.length).toBeGreaterThan(10)
  for (const row of rows) expect(Number(row.split('|')[2].replaceAll(',', '')), row).toBeGreaterThan(0)
})
