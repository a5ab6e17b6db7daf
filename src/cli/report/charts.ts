/** The pictures of a report as SVG text. Colours come from the page, so one picture does for light and dark. */
import type { Markish, PlotOptions } from '@observablehq/plot'
import type { IterationStats } from '../../index.ts'
import type { Confusion } from '../truth.ts'
import { percent } from '../words.ts'
import { circleChart } from './circles.ts'
import { Markup } from './markup.ts'
import type { PlaneRound } from './mixture.ts'

const WIDTH = 460
const HEIGHT = 250
const ACCENT = 'var(--accent)'
/** Up to here every round gets a dot, and every cluster a bar of its own. */
const FEW = 60
/** Clusters in the heat map; more would be thinner than a pixel. */
const HEAT_MAP_CLUSTERS = 100
/** Classes whose names fit beside the heat map. */
const NAMED_CLASSES = 40
/** Paler than this nobody sees. */
const FAINT = 0.005

type Plot = typeof import('@observablehq/plot')

export interface Charts {
  distortionByRound(rounds: readonly IterationStats[]): Markup
  distortionByTime(rounds: readonly IterationStats[], seconds: readonly number[]): Markup
  movedByRound(rounds: readonly IterationStats[]): Markup
  candidatesByRound(rounds: readonly IterationStats[]): Markup
  componentsByRound(rounds: readonly IterationStats[]): Markup
  likelihoodByRound(rounds: readonly IterationStats[]): Markup
  sizes(sorted: readonly number[]): Markup
  circles(round: PlaneRound, frame: readonly [number, number, number, number]): Markup
  confusion(confusion: Confusion, sizes: Uint32Array): { readonly picture: Markup; readonly clusters: number }
}

/** Loads the plotting library, which only a report needs. */
export async function loadCharts(): Promise<Charts> {
  const Plot = await import('@observablehq/plot')
  const { parseHTML } = await import('linkedom')
  const { document } = parseHTML('<html></html>')
  const draw = (label: string, options: PlotOptions): Markup => {
    const picture = Plot.plot({
      document: document as unknown as Document,
      width: WIDTH,
      height: HEIGHT,
      marginTop: 12,
      marginLeft: 52,
      marginBottom: 36,
      style: { background: 'none', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
      ...options,
      ariaLabel: label,
    })
    picture.setAttribute('role', 'img')
    return new Markup(picture.outerHTML)
  }
  return {
    distortionByRound: (rounds) =>
      draw('Line: distortion after each round', {
        x: { label: 'round', ...wholeTicks(rounds) },
        y: { label: null, ...distortionAxis(rounds) },
        marks: curve(
          Plot,
          rounds.map(({ iteration, distortion }) => [iteration, distortion]),
        ),
      }),
    distortionByTime: (rounds, seconds) =>
      draw('Line: distortion over time', {
        x: { label: 'seconds', domain: [0, seconds[seconds.length - 1] || 1], nice: true, ticks: 6 },
        y: { label: null, ...distortionAxis(rounds) },
        marks: curve(
          Plot,
          rounds.map(({ distortion }, i) => [seconds[i], distortion]),
        ),
      }),
    movedByRound: (rounds) => {
      const moving = rounds.filter(({ moved }) => moved > 0)
      const powers = powersOfTen(moving.map(({ moved }) => moved))
      return draw('Line: points that changed their cluster in each round, logarithmic', {
        x: { label: 'round', ...wholeTicks(rounds) },
        y: {
          label: null,
          type: 'log',
          domain: [powers[0], powers[powers.length - 1]],
          ticks: powers,
          tickFormat: compact,
          grid: true,
        },
        marks: curve(
          Plot,
          moving.map(({ iteration, moved }) => [iteration, moved]),
        ),
      })
    },
    candidatesByRound: (rounds) => {
      const most = Math.max(...rounds.map(({ candidates }) => candidates))
      return draw('Line: centres looked at per point in each round', {
        x: { label: 'round', ...wholeTicks(rounds) },
        y: { label: null, domain: [0, most], nice: true, ticks: 5, tickFormat: compact, grid: true },
        marks: curve(
          Plot,
          rounds.map(({ iteration, candidates }) => [iteration, candidates]),
        ),
      })
    },
    componentsByRound: (rounds) => {
      const left = rounds.map(({ iteration, extra }) => [iteration, extra?.components ?? 0] as const)
      return draw('Line: components left after each round', {
        x: { label: 'round', ...wholeTicks(rounds) },
        y: {
          label: null,
          domain: [0, Math.max(...left.map(([, value]) => value))],
          nice: true,
          ticks: 5,
          tickFormat: compact,
          grid: true,
        },
        marks: curve(Plot, left),
      })
    },
    likelihoodByRound: (rounds) => {
      const values = rounds.map(({ iteration, extra }) => [iteration, extra?.logLikelihood ?? 0] as const)
      return draw('Line: mean log-likelihood in each round', {
        x: { label: 'round', ...wholeTicks(rounds) },
        y: { label: null, ...spanAxis(values.map(([, value]) => value)) },
        marks: curve(Plot, values),
      })
    },
    circles: (round, frame) =>
      draw(
        `Points, centres and circles of two deviations after round ${round.iteration}`,
        circleChart(Plot, round, frame),
      ),
    sizes: (sorted) => draw('Bars: points of each cluster, largest first', sizeChart(Plot, sorted)),
    confusion: (confusion, sizes) => {
      const order = heatMapOrder(confusion, sizes)
      const label = 'Heat map: share of each class in each cluster'
      return { picture: draw(label, heatMap(Plot, confusion, order)), clusters: order.length }
    },
  }
}

const compactFormat = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })

function compact(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : compactFormat.format(value)
}

/** From the one below the least value to the one above the largest. */
function powersOfTen(values: readonly number[]): number[] {
  if (values.length === 0) return [1, 10]
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
}

function distortionAxis(rounds: readonly IterationStats[]): PlotOptions['y'] {
  return spanAxis(rounds.map(({ distortion }) => distortion))
}

function spanAxis(values: readonly number[]): PlotOptions['y'] {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  // A flat line needs some height to lie in.
  const margin = high > low ? (high - low) * 0.05 : Math.abs(high) * 0.05 || 1
  return { domain: [low - margin, high + margin], ticks: 5, tickFormat: compact, grid: true }
}

function wholeTicks(rounds: readonly IterationStats[]): PlotOptions['x'] {
  const [first, last] = [rounds[0].iteration, rounds[rounds.length - 1].iteration]
  const ticks = Math.min(8, last - first + 1)
  return {
    domain: [first, Math.max(last, first + 1)],
    ticks,
    tickFormat: (value: number) => (Number.isInteger(value) ? `${value}` : ''),
  }
}

function curve(Plot: Plot, points: readonly (readonly [number, number])[]): Markish[] {
  const place = { x: (point: readonly [number, number]) => point[0], y: (point: readonly [number, number]) => point[1] }
  return [
    Plot.line(points, { ...place, stroke: ACCENT, strokeWidth: 2 }),
    points.length <= FEW ? Plot.dot(points, { ...place, fill: ACCENT, r: 2.5 }) : undefined,
  ]
}

function sizeChart(Plot: Plot, sorted: readonly number[]): PlotOptions {
  const k = sorted.length
  const axes: PlotOptions = {
    x: { label: 'clusters, largest first', domain: [0, k], ticks: 6, tickFormat: compact },
    y: { label: null, domain: [0, Math.max(1, sorted[0])], nice: true, ticks: 5, tickFormat: compact, grid: true },
  }
  const inset = k <= FEW * 2 ? Math.min(1, (0.15 * (WIDTH - 70)) / k) : 0
  const bars = { x1: (_: number, i: number) => i, x2: (_: number, i: number) => i + 1, y: (size: number) => size }
  if (k <= FEW * 2)
    return { ...axes, marks: [Plot.rectY(sorted, { ...bars, fill: ACCENT, insetLeft: inset, insetRight: inset })] }
  return {
    ...axes,
    marks: [
      Plot.areaY(sorted, { x: (_: number, i: number) => i, y: (size: number) => size, curve: 'step', fill: ACCENT }),
    ],
  }
}

/** The largest clusters, those of one class side by side, the purest of them first: a good clustering shows steps. */
function heatMapOrder({ majority }: Confusion, sizes: Uint32Array): number[] {
  return Array.from(sizes.keys())
    .filter((cluster) => sizes[cluster] > 0)
    .sort((a, b) => sizes[b] - sizes[a])
    .slice(0, HEAT_MAP_CLUSTERS)
    .sort((a, b) => majority[a].index - majority[b].index || majority[b].share - majority[a].share)
}

function heatMap(Plot: Plot, { classes, counts }: Confusion, order: readonly number[]): PlotOptions {
  const cells = order.flatMap((cluster, at) => {
    const row = counts.subarray(cluster * classes.length, (cluster + 1) * classes.length)
    const total = row.reduce((sum, points) => sum + points, 0)
    return Array.from(row, (points, index) => ({ cluster, at, name: classes[index], share: points / total }))
  })
  const spacing = Math.ceil(classes.length / NAMED_CLASSES)
  return {
    width: 2 * WIDTH + 32,
    height: Math.min(640, 24 + 22 * classes.length),
    marginLeft: 60,
    marginBottom: 8,
    x: { label: null, domain: [0, order.length], ticks: 0 },
    y: {
      label: 'class',
      type: 'band',
      domain: classes,
      tickSize: 0,
      padding: 0.06,
      ticks: classes.filter((_, i) => i % spacing === 0),
    },
    opacity: { domain: [0, 1], range: [0, 1] },
    marks: [
      Plot.barX(
        cells.filter(({ share }) => share >= FAINT),
        {
          x1: 'at',
          x2: ({ at }: { at: number }) => at + 1,
          y: 'name',
          fill: ACCENT,
          fillOpacity: 'share',
          insetLeft: order.length <= FEW * 2 ? 0.5 : 0,
          insetRight: order.length <= FEW * 2 ? 0.5 : 0,
          title: ({ cluster, name, share }: (typeof cells)[number]) =>
            `cluster ${cluster}, class ${name}: ${percent(share)}`,
        },
      ),
    ],
  }
}
