/** What every benchmark prints and keeps: a table for people, JSON with device, versions and date for programs. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'

export { median } from './gpu/median.ts'

export type Cell = string | number

export function printTable(title: string, rows: readonly Record<string, Cell>[]): void {
  const columns = Object.keys(rows[0] ?? {})
  const text = (value: Cell): string => (typeof value === 'number' ? readable(value) : value)
  const widths = columns.map((name) => Math.max(name.length, ...rows.map((row) => text(row[name]).length)))
  const line = (cells: string[], numbers: boolean[]): string =>
    cells.map((cell, i) => (numbers[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ')
  const numeric = columns.map((name) => rows.every((row) => typeof row[name] === 'number' || row[name] === '-'))
  console.log(`\n${title}`)
  console.log(line(columns, numeric))
  console.log(widths.map((width) => '-'.repeat(width)).join('  '))
  for (const row of rows) {
    console.log(
      line(
        columns.map((name) => text(row[name])),
        numeric,
      ),
    )
  }
}

export function readable(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en')
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

/** Writes bench/results/<name>.json and says so. */
export function keepResults(name: string, results: object): void {
  mkdirSync('bench/results', { recursive: true })
  const path = `bench/results/${name}.json`
  const contents = { benchmark: name, date: new Date().toISOString(), machine: machine(), ...results }
  writeFileSync(path, `${JSON.stringify(contents, undefined, 2)}\n`)
  console.log(`\nKept in ${path}`)
}

function machine(): object {
  const version = JSON.parse(readFileSync('package.json', 'utf8')).version as string
  return { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, centroidal: version, commit: commit() }
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

/** The shortest of several runs, in seconds. */
export async function fastest(times: number, work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await work()
    best = Math.min(best, (performance.now() - began) / 1000)
  }
  return best
}
