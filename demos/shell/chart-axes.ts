/** Domains, ticks and tick labels of charts. */

export type Range = readonly [low: number, high: number]
export type ChartScale = 'linear' | 'log'
export type Points = readonly (readonly [x: number, y: number])[]

export interface ChartAxis {
  readonly domain: Range
  readonly ticks: readonly number[]
  /** Of the ticks, all different. */
  readonly labels: readonly string[]
}

const MOST_DIGITS = 12
/** Smaller changes, as a share of the values, are rounding: a curve that has converged is drawn level. */
const LEVEL = 1e-3

/** Time or rounds. Whole numbers have no ticks in between. */
export function xAxis(points: Points, scale: ChartScale, whole: boolean): ChartAxis {
  const [low, high] = range(points, 0, scale)
  if (scale === 'log') return withTicks(low === high ? [low / 1.2, high * 1.2] : [low, high], scale, false)
  return withTicks(
    whole ? [Math.min(low, 1), Math.max(high, 2)] : [Math.min(low, 0), Math.max(high, 1e-9)],
    scale,
    whole,
  )
}

export function yAxis(points: Points, scale: ChartScale): ChartAxis {
  const [low, high] = range(points, 1, scale)
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1
  if (high - low < LEVEL * size) return withTicks([low - LEVEL * size, high + LEVEL * size], scale, false)
  if (scale === 'log') return withTicks([low / 1.05, high * 1.05], scale, false)
  const margin = (high - low) * 0.06
  return withTicks([low - margin, high + margin], scale, false)
}

function range(points: Points, which: 0 | 1, scale: ChartScale): Range {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const point of points) {
    const value = point[which]
    if (!Number.isFinite(value) || (scale === 'log' && value <= 0)) continue
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  if (low > high) return scale === 'log' ? [0.1, 1] : [0, 1]
  return [low, high]
}

function withTicks(domain: Range, scale: ChartScale, whole: boolean): ChartAxis {
  const [low, high] = domain
  const all = scale === 'log' ? logTicks(low, high) : linearTicks(low, high)
  const ticks = whole ? all.filter(Number.isInteger) : all
  return { domain, ticks, labels: tickLabels(ticks) }
}

function linearTicks(low: number, high: number, count = 6): number[] {
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const ticks: number[] = []
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step)
  return ticks
}

/** 1, 2 and 5 of each power of ten if there is room, otherwise the powers; linear steps within one. */
function logTicks(low: number, high: number): number[] {
  if (high / low < 5) return linearTicks(low, high).filter((tick) => tick > 0)
  const factors = high / low > 1000 ? [1] : high / low > 60 ? [1, 3] : [1, 2, 5]
  const ticks: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...factors.map((factor) => factor * 10 ** power).filter((tick) => tick >= low && tick <= high))
  }
  return ticks
}

/** As many digits as tell the ticks apart: values of a curve that hardly changes differ in later ones. */
export function tickLabels(ticks: readonly number[]): string[] {
  for (let digits = 4; ; digits++) {
    const labels = ticks.map((tick) => shortNumber(tick, digits))
    if (new Set(labels).size === ticks.length || digits === MOST_DIGITS) return labels
  }
}

function shortNumber(value: number, digits: number): string {
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return Number(value.toPrecision(digits)).toExponential()
  return value.toLocaleString('en', { maximumSignificantDigits: digits })
}
