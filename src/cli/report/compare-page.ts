/** Comparison of runs, with warnings about values that cannot be compared. */
import { adjustedRandIndex, normalizedMutualInformation } from '../../index.ts'
import { count, duration, number, percent } from '../format.ts'
import { type ClusterRun, type QuantizerRun, type Run, runSeconds, shortNames } from '../run-folder.ts'
import { centerMaps } from './center-map.ts'
import { type RoundFacts, runningSeconds } from './charts/course.ts'
import { type Drawing, loadDrawing } from './charts/drawing.ts'
import { distortionOverlay, legend, type Series, seriesColor, sizeOverlay } from './charts/overlay.ts'
import { card, howItWasMade, page, table, thinned } from './document.ts'
import { html, type Markup } from './markup.ts'
import { originalBytes } from './quantizer-page.ts'

/** How alike two labelings are; 1: the same groups. */
export interface PairAgreement {
  readonly runs: readonly [string, string]
  readonly nmi: number
  readonly ari: number
}

export interface Comparison {
  readonly clusterings: readonly ClusterRun[]
  readonly quantizers: readonly QuantizerRun[]
  /** Of clusterings with labels for the same number of vectors. */
  readonly agreements: readonly PairAgreement[]
  /** What does not compare, in sentences. */
  readonly warnings: readonly string[]
}

export function compareRuns(runs: readonly Run[]): Comparison {
  const names = shortNames(runs.map(({ name }) => name))
  const named = runs.map((run, i) => ({ ...run, name: names[i] }))
  const clusterings = named.filter((run) => run.kind === 'clustering')
  const quantizers = named.filter((run) => run.kind === 'quantizer')
  return {
    clusterings,
    quantizers,
    agreements: agreementsOf(clusterings),
    warnings: [...clusterWarnings(clusterings), ...quantizerWarnings(quantizers)],
  }
}

function agreementsOf(runs: readonly ClusterRun[]): PairAgreement[] {
  return runs.flatMap((a, i) =>
    runs.slice(i + 1).flatMap((b) => {
      if (!a.labels || !b.labels || a.labels.length !== b.labels.length) return []
      const nmi = normalizedMutualInformation(a.labels, b.labels)
      return [{ runs: [a.name, b.name] as const, nmi, ari: adjustedRandIndex(a.labels, b.labels) }]
    }),
  )
}

function clusterWarnings(runs: readonly ClusterRun[]): string[] {
  const warnings: string[] = []
  const differ = (of: (run: ClusterRun) => unknown): boolean => new Set(runs.map(of)).size > 1
  const list = (of: (run: ClusterRun) => string): string => runs.map((run) => `${run.name} ${of(run)}`).join(', ')
  if (differ(({ facts }) => facts.cols)) {
    warnings.push(
      `The runs differ in dimensions (${list(({ facts }) => number(facts.cols))}): distortions do not compare, and every map has its own plane.`,
    )
  } else if (differ(({ facts }) => facts.metric)) {
    warnings.push(`The runs differ in metric (${list(({ facts }) => facts.metric)}): distortions do not compare.`)
  }
  if (differ(({ facts }) => facts.rows)) {
    warnings.push(
      `The runs are of different numbers of vectors (${list(({ facts }) => number(facts.rows))}): labels are compared only where the number is the same.`,
    )
  } else if (differ(({ notes }) => notes.file)) {
    warnings.push(
      'The runs name different files: what is compared here means something only if they hold the same vectors.',
    )
  }
  if (differ(({ facts }) => facts.k)) {
    warnings.push('The runs differ in the number of clusters: more clusters have less distortion, whatever the method.')
  }
  for (const { name, labels } of runs) {
    if (labels === undefined) warnings.push(`${name} has no labels.npy: sizes and agreement are left out.`)
  }
  return warnings
}

function quantizerWarnings(runs: readonly QuantizerRun[]): string[] {
  const cols = new Set(runs.map(({ quantizer }) => quantizer.codec.cols))
  if (cols.size > 1) return ['The quantizers differ in dimensions: their distortions do not compare.']
  const sizes = new Set(runs.map(({ quantizer }) => quantizer.codeBytes))
  return sizes.size > 1 ? ['The quantizers differ in bytes a vector: more bytes have less distortion.'] : []
}

export async function comparePage(title: string, comparison: Comparison, commandLine: string): Promise<string> {
  const drawing = await loadDrawing()
  const { clusterings, quantizers, warnings } = comparison
  const made = 'Every run keeps its own report in its folder; centroidal report with one folder writes it anew.'
  return page(
    title,
    html`${leads(comparison).map((words) => html`<p class="lead">${words}</p>`)}
${warnings.map((words) => html`<p class="soft">${words}</p>`)}
${clusterings.length > 0 ? clusterSections(comparison, drawing) : undefined}
${quantizers.length > 0 ? quantizerSections(quantizers, drawing) : undefined}
${howItWasMade(made, commandLine)}`,
  )
}

function leads({ clusterings, quantizers }: Comparison): string[] {
  const facts = (run: Run): { name: string; distortion: number; seconds: number } => ({
    name: run.name,
    distortion: distortionOf(run),
    seconds: runSeconds(run),
  })
  const sentence = (things: string, runs: { name: string; distortion: number; seconds: number }[]): string => {
    const lowest = runs.reduce((best, run) => (run.distortion < best.distortion ? run : best))
    const quickest = runs.reduce((best, run) => (run.seconds < best.seconds ? run : best))
    const both = lowest === quickest ? ' and the shortest time' : ''
    const other = both
      ? ''
      : ` ${quickest.name} took the least time, ${duration(quickest.seconds)}, and ended ${percent(quickest.distortion / lowest.distortion - 1, 1)} higher.`
    return `${count(runs.length, things)}: ${lowest.name} has the lowest distortion${both}, ${number(lowest.distortion)} in ${duration(lowest.seconds)}.${other}`
  }
  return [
    ...(clusterings.length > 1 && sameMeasure(clusterings) ? [sentence('clustering', clusterings.map(facts))] : []),
    ...(quantizers.length > 1 && sameMeasure(quantizers) ? [sentence('quantizer', quantizers.map(facts))] : []),
  ]
}

/** Distances in spaces of other dimensions, or of directions alone, are no measure for each other. */
function sameMeasure(runs: readonly Run[]): boolean {
  const measure = (run: Run): string =>
    run.kind === 'clustering' ? `${run.facts.cols} ${run.facts.metric}` : `${run.quantizer.codec.cols}`
  return new Set(runs.map(measure)).size === 1
}

/** The lowest of several that compare stands out. */
function distortionCell(run: Run, runs: readonly Run[]): Markup | string {
  const own = distortionOf(run)
  const best = runs.length > 1 && sameMeasure(runs) && runs.every((other) => distortionOf(other) >= own)
  return best ? html`<b class="best">${number(own)}</b>` : number(own)
}

export function distortionOf(run: Run): number {
  const rounds = roundsOf(run)
  return rounds[rounds.length - 1].distortion
}

export function roundsOf(run: Run): readonly RoundFacts[] {
  return run.kind === 'clustering' ? run.facts.iterations : run.quantizer.facts.iterations
}

function clusterSections({ clusterings, agreements }: Comparison, drawing: Drawing): Markup {
  const names = clusterings.map(({ name }) => name)
  // A run without sizes keeps its place, and so its colour.
  const sorted = clusterings.map(({ name, sizes }) => ({ name, sorted: Array.from(sizes ?? []).sort((a, b) => b - a) }))
  const sized = clusterings.some(({ sizes }) => sizes !== undefined)
  return html`<section><h2>Clusterings</h2>${clusterTable(clusterings)}</section>
<section><h2>Course of the runs</h2>${legend(names)}<div class="charts">
${courseCards(clusterings, drawing, 'Mean squared distance of a point to its centre.')}
${sized ? card('Cluster sizes', sizeOverlay(drawing, sorted), 'Points of each cluster as multiples of the mean of its run, so that runs with other numbers of clusters compare.') : undefined}
</div></section>
${mapSection(clusterings, drawing)}
${agreementSection(names, agreements)}`
}

/** A column where devices differ, else a sentence. */
function deviceOf(runs: readonly { readonly device: { readonly name: string } }[]): {
  readonly column: boolean
  readonly words: Markup | undefined
} {
  const column = new Set(runs.map(({ device }) => device.name)).size > 1
  return { column, words: column ? undefined : html`<p class="soft">Device of all: ${runs[0].device.name}.</p>` }
}

function clusterTable(runs: readonly ClusterRun[]): Markup {
  const { column, words } = deviceOf(runs.map(({ facts }) => facts))
  const evaluated = runs.some(({ notes }) => notes.agreement !== undefined)
  const heads = ['run', 'method', 'clusters', 'distortion', 'rounds', 'time', 'centres evaluated', 'seed']
  return html`${table(
    [...heads, ...(evaluated ? ['NMI'] : []), ...(column ? ['device'] : [])],
    runs.map((run) => {
      const { facts, notes } = run
      const nmi = evaluated ? [notes.agreement?.nmi.toFixed(3) ?? '–'] : []
      return [
        run.name,
        facts.method,
        number(facts.k),
        distortionCell(run, runs),
        number(facts.iterations.length),
        duration(runSeconds(run)),
        number(Number(facts.iterations[facts.iterations.length - 1].candidates.toPrecision(3))),
        `${facts.seed}`,
        ...nmi,
        ...(column ? [facts.device.name] : []),
      ]
    }),
  )}${words}`
}

/** Distortion of all runs over rounds and over time; where distortions do not compare, as shares of the first round's. */
export function courseCards(runs: readonly Run[], drawing: Drawing, meaning: string): Markup[] {
  const same = sameMeasure(runs)
  const series = (x: (rounds: readonly RoundFacts[]) => number[]): Series[] =>
    runs.map((run) => {
      const rounds = thinned(roundsOf(run))
      const places = x(rounds)
      const unit = same ? 1 : rounds[0].distortion || 1
      return { name: run.name, points: rounds.map(({ distortion }, i) => [places[i], distortion / unit]) }
    })
  const byTime = distortionOverlay(drawing, series(runningSeconds), 'seconds')
  const byRound = distortionOverlay(
    drawing,
    series((rounds) => rounds.map(({ iteration }) => iteration)),
    'round',
  )
  const scale = same
    ? meaning
    : 'As a share of what it was after the first round of its run, because distortions do not compare.'
  const work = 'Rounds of different methods do different amounts of work.'
  return [
    card('Distortion over time', byTime.picture, `${scale} ${byTime.remarks}`),
    card('Distortion over rounds', byRound.picture, `${work} ${byRound.remarks}`),
  ]
}

function mapSection(runs: readonly ClusterRun[], drawing: Drawing): Markup | undefined {
  const colors = runs.map((_, i) => seriesColor(i))
  const shared = new Set(runs.map(({ facts }) => facts.cols)).size === 1
  const maps = shared
    ? [centerMaps(drawing, runs, colors)]
    : runs.map((run, i) => centerMaps(drawing, [run], [colors[i]]))
  if (maps.some((map) => map === undefined)) return undefined
  const pictures = maps.flatMap((map) => map?.pictures ?? [])
  const caption = shared
    ? `All maps show the same plane. ${maps[0]?.caption}`
    : 'Every map shows the plane of its own run.'
  const cards = pictures.map((picture, i) => html`<figure class="card"><h3>${runs[i].name}</h3>${picture}</figure>`)
  return html`<section><h2>Maps of the centres</h2><p class="soft">${caption}</p><div class="charts maps">${cards}</div></section>`
}

function agreementSection(names: readonly string[], agreements: readonly PairAgreement[]): Markup | undefined {
  if (agreements.length === 0) return undefined
  const between = (a: string, b: string): string => {
    if (a === b) return '1'
    const pair = agreements.find(({ runs }) => runs.includes(a) && runs.includes(b))
    return pair ? `${pair.nmi.toFixed(3)} / ${pair.ari.toFixed(3)}` : '–'
  }
  return html`<section><h2>Agreement</h2>
<p class="soft">How alike the clusters of two runs are: NMI / adjusted Rand index. 0: unrelated, 1: the same groups. –: not the same number of vectors.</p>
${table(
  ['', ...names],
  names.map((a) => [a, ...names.map((b) => between(a, b))]),
)}</section>`
}

function quantizerSections(runs: readonly QuantizerRun[], drawing: Drawing): Markup {
  const { column, words } = deviceOf(runs.map(({ quantizer }) => quantizer.facts))
  const rows = runs.map((run) => {
    const { facts, codeBytes, codec } = run.quantizer
    return [
      run.name,
      facts.type,
      number(codeBytes),
      number(originalBytes(codec.cols, run.notes.elements)),
      `${number(facts.m)} of ${number(facts.codewords)}`,
      distortionCell(run, runs),
      number(facts.iterations.length),
      duration(runSeconds(run)),
      `${facts.seed}`,
      ...(column ? [facts.device.name] : []),
    ]
  })
  const heads = ['run', 'type', 'bytes', 'bytes before', 'codes', 'distortion', 'rounds', 'time', 'seed']
  return html`<section><h2>Quantizers</h2>${table([...heads, ...(column ? ['device'] : [])], rows)}${words}${legend(runs.map(({ name }) => name))}<div class="charts">
${courseCards(runs, drawing, 'Mean squared distance of a vector to what its codes stand for.')}
</div></section>`
}
