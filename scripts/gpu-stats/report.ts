/** Rows of the table, their comparison with targets, and the table as text. */
import type { Compiled } from './compile.ts'
import { hotLoop, residentWaves, shareWithOuterLoop } from './cost.ts'
import type { Family } from './families.ts'

/** Columns that shares are computed for, where the loop around the hot one counts. */
const COLUMNS = 128

export interface Row {
  readonly file: string
  readonly kernel: string
  readonly error?: string
  readonly wave: number
  readonly vgprs: number
  /** Spilled vector and scalar registers. */
  readonly spills: number
  /** Bytes of private memory that did not fit into registers. */
  readonly scratch: number
  readonly lds: number
  readonly waves: number
  readonly instructions: number
  /** Of one lane in one iteration of the hot loop. */
  readonly multiplyAdds: number
  readonly valuClocks: number
  readonly ldsClocks: number
  readonly cacheClocks: number
  /** Percent of fp32 peak in the hot loop. */
  readonly loopPeak: number
  /** The same with the loop around it, for rows of 128 columns; that of the hot loop where it is not known. */
  readonly peak: number
  readonly bound: string
}

export function rowOf({ kernel, result }: Compiled, family: Family): Row {
  const names = { file: kernel.file, kernel: kernel.name }
  if ('error' in result) return { ...names, ...NOTHING, error: result.error }
  const { statistics } = result
  const hot = hotLoop(result, family)
  const { products } = kernel
  const whole =
    hot && products ? shareWithOuterLoop(result, hot, family, { columns: COLUMNS, products }) : (hot?.share ?? 0)
  return {
    ...names,
    wave: result.wave,
    vgprs: statistics.VGPRs,
    spills: (statistics['Spilled VGPRs'] ?? 0) + (statistics['Spilled SGPRs'] ?? 0),
    scratch: statistics['Scratch size'] ?? 0,
    lds: statistics['LDS size'] ?? 0,
    waves: residentWaves(result, family),
    instructions: statistics.Instructions ?? result.code.length,
    multiplyAdds: hot?.multiplyAdds ?? 0,
    valuClocks: Math.round(hot?.clocks.VALU ?? 0),
    ldsClocks: Math.round(hot?.clocks.LDS ?? 0),
    cacheClocks: Math.round(hot?.clocks.cache ?? 0),
    loopPeak: Math.round((hot?.share ?? 0) * 100),
    peak: Math.round(whole * 100),
    bound: hot?.bound ?? '-',
  }
}

const NOTHING = {
  wave: 0,
  vgprs: 0,
  spills: 0,
  scratch: 0,
  lds: 0,
  waves: 0,
  instructions: 0,
  multiplyAdds: 0,
  valuClocks: 0,
  ldsClocks: 0,
  cacheClocks: 0,
  loopPeak: 0,
  peak: 0,
  bound: '-',
} as const

type Measure = 'spills' | 'scratch' | 'vgprs' | 'waves' | 'peak' | 'lds'
type Limits = { readonly [measure in Measure]?: number }

/** A requirement of targets.json. */
export interface Target {
  readonly name: string
  /** Regular expression on "file/kernel". */
  readonly kernels: string
  /** Met if one of the kernels meets it: the forms of a kernel are alternatives. Otherwise all must. */
  readonly anyForm?: boolean
  /** All families if left out. */
  readonly families?: readonly string[]
  readonly least?: Limits
  readonly most?: Limits
}

const UNITS: Readonly<Record<Measure, (value: number) => string>> = {
  spills: (value) => `${value} spilled registers`,
  scratch: (value) => `${value} bytes of scratch`,
  vgprs: (value) => `${value} VGPRs`,
  waves: (value) => `${value} waves`,
  peak: (value) => `${value} % of fp32 peak`,
  lds: (value) => `${value} bytes of LDS`,
}

/** One line for every target that is missed. With `partial`, targets without kernels are passed over. */
export function missedTargets(
  rows: readonly Row[],
  family: string,
  targets: readonly Target[],
  { partial = false } = {},
): string[] {
  const missed = rows
    .filter(({ error }) => error !== undefined)
    .map(({ kernel, error }) => `${family}: ${kernel} does not compile: ${error}`)
  for (const target of targets) {
    if (target.families && !target.families.includes(family)) continue
    const pattern = new RegExp(target.kernels)
    const chosen = rows.filter(({ file, kernel, error }) => error === undefined && pattern.test(`${file}/${kernel}`))
    if (chosen.length === 0) {
      if (!partial) missed.push(`${family}: ${target.name}: no kernel matches ${target.kernels}`)
      continue
    }
    const failures = chosen.map((row) => ({ row, faults: faultsOf(row, target) }))
    if (target.anyForm && failures.some(({ faults }) => faults.length === 0)) continue
    const worth = failures.filter(({ faults }) => faults.length > 0)
    const shown = target.anyForm
      ? [worth.reduce((best, other) => (other.row.peak > best.row.peak ? other : best))]
      : worth
    for (const { row, faults } of shown) {
      missed.push(`${family}: ${target.name}: ${row.kernel} has ${faults.join(', ')}`)
    }
  }
  return missed
}

function faultsOf(row: Row, { least = {}, most = {} }: Target): string[] {
  const faults: string[] = []
  for (const [measure, limit] of Object.entries(least) as [Measure, number][]) {
    if (row[measure] < limit) faults.push(`${UNITS[measure](row[measure])} (at least ${limit})`)
  }
  for (const [measure, limit] of Object.entries(most) as [Measure, number][]) {
    if (row[measure] > limit) faults.push(`${UNITS[measure](row[measure])} (at most ${limit})`)
  }
  return faults
}

const HEADINGS: readonly (readonly [string, (row: Row) => string | number])[] = [
  ['kernel', ({ kernel }) => kernel],
  ['wave', ({ wave }) => wave],
  ['VGPRs', ({ vgprs }) => vgprs],
  ['spills', ({ spills }) => spills],
  ['scratch', ({ scratch }) => scratch],
  ['LDS', ({ lds }) => lds],
  ['waves', ({ waves }) => waves],
  ['instructions', ({ instructions }) => instructions],
  ['multiply-adds', ({ multiplyAdds }) => multiplyAdds],
  ['VALU clocks', ({ valuClocks }) => valuClocks],
  ['LDS clocks', ({ ldsClocks }) => ldsClocks],
  ['cache clocks', ({ cacheClocks }) => cacheClocks],
  ['loop peak %', ({ loopPeak }) => loopPeak],
  ['peak %', ({ peak }) => peak],
  ['bound', ({ bound }) => bound],
]

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) =>
    row.error === undefined
      ? HEADINGS.map(([, cell]) => String(cell(row)))
      : [row.kernel, ...HEADINGS.slice(1).map(() => '-')],
  )
  const all = [HEADINGS.map(([heading]) => heading), ...lines]
  const widths = HEADINGS.map((_, column) => Math.max(...all.map((cells) => cells[column].length)))
  return all
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '))
    .join('\n')
}
