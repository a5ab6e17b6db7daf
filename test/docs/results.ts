/** The files of bench/results, for tests that compare documents with them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './markdown.ts'

export type Row = Record<string, unknown>

export const results = (name: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: every file has its own shape, and a wrong path fails the test
  JSON.parse(readFileSync(join(ROOT, 'bench/results', `${name}.json`), 'utf8')) as any

export const row = (rows: readonly Row[], wanted: Row): Row => {
  const found = rows.find((one) => Object.entries(wanted).every(([key, value]) => one[key] === value))
  if (!found) throw new Error(`no row with ${JSON.stringify(wanted)}`)
  return found
}

export const fixed = (value: unknown, digits: number): string => Number(value).toFixed(digits)
/** Without its sign. */
export const share = (text: unknown): string => String(text).replace(/^-/, '')
