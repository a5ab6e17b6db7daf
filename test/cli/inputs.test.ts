/** What commands read: several files, standard input, columns, names, and what is told about them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const golden = (name: string): string => join(fileURLToPath(new URL('../data/golden', import.meta.url)), name)
const folder = mkdtempSync(join(tmpdir(), 'centroidal-inputs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(args: readonly string[], input?: Uint8Array | string) {
  const done = spawnSync(process.execPath, [CLI, ...args], { cwd: folder, ...(input === undefined ? {} : { input }) })
  return { status: done.status, out: done.stdout, text: done.stdout.toString(), told: done.stderr.toString() }
}

const last = (text: string) => JSON.parse(text.trim().split('\n').at(-1)!)
const cluster = (...rest: string[]): string[] => ['cluster', ...rest, '--device', 'cpu', '--json', '--out', 'run']

test('an index column is not clustered, and that is told', () => {
  const { status, text, told } = run(cluster(golden('pandas-index.csv'), '-k', '2'))
  expect(status).toBe(0)
  expect(last(text)).toMatchObject({ rows: 5, cols: 3 })
  expect(told).toContain('The first column is an index: it is not part of the vectors.')
})

test('names of rows are in the JSON and in the report', () => {
  const { text } = run(cluster(golden('pandas-named.csv'), '-k', '2', '-q'))
  expect(
    last(text)
      .members.flatMap(({ names }: { names: string[] }) => names)
      .sort(),
  ).toEqual(['ant', 'bee, the', 'c"at', 'dög', 'elk'].sort())
  expect(readFileSync(join(folder, 'run', 'report.html'), 'utf8')).toContain('bee, the')
})

test('several files, and standard input, are one set', () => {
  expect(last(run(cluster(golden('npy-float32.npy'), golden('polars-zstd.parquet'), '-k', '2')).text).rows).toBe(10)
  const piped = run(cluster('-', '-k', '2'), readFileSync(golden('npy-float64.npy')))
  expect(last(piped.text)).toMatchObject({ rows: 5, cols: 3 })
  const columns = run(cluster('-', '-k', '2', '--columns', 'z,x'), readFileSync(golden('pandas-index.csv')))
  expect(last(columns.text)).toMatchObject({ rows: 5, cols: 2 })
  expect(run(cluster('-', '-k', '2'), '').told).toContain('Standard input is empty')
  expect(run(cluster('-', '-k', '2'), readFileSync(golden('npy-float64.npy.gz'))).told).toContain('--format csv.gz')
  expect(
    last(run(cluster('-', '-k', '2', '--format', 'npy.gz'), readFileSync(golden('npy-float64.npy.gz'))).text).rows,
  ).toBe(5)
})

test('convert writes to standard output, and rounds only when asked', () => {
  const npy = run(['convert', golden('npy-float64.npy'), '-', '--to', 'npy'])
  expect(new Uint8Array(npy.out)).toEqual(new Uint8Array(readFileSync(golden('npy-float64.npy'))))
  writeFileSync(join(folder, 'p.csv'), '0.1,0.2\n')
  const refused = run(['convert', 'p.csv', 'p.fvecs'])
  expect([refused.status, refused.told]).toEqual([2, expect.stringContaining('or round them with --float32.')])
  expect(run(['convert', 'p.csv', 'p.fvecs', '--float32']).status).toBe(0)
  expect(run(['convert', 'p.csv']).told).toContain('give at least two names, the last of which is written')
})

test('labels go to standard output', () => {
  run(cluster(golden('npy-float32.npy'), '-k', '2'))
  const { text } = run(['assign', 'run', golden('npy-float32.npy'), '--out', '-', '--device', 'cpu'])
  expect(text.trim().split('\n')).toHaveLength(5)
})

test('files that cannot be read say why', () => {
  expect(run(cluster('x.xlsx', '-k', '2')).told).toMatch(/no extension of a supported format.*\.parquet.*--format/)
  expect(run(cluster(golden('npy-0-rows.npy'), '-k', '2')).told).toMatch(/has no rows: give at least one vector/)
  expect(run(cluster(golden('npy-float32.npy'), '-k', '2', '--columns', ',')).told).toMatch(/Option --columns is ","/)
})
