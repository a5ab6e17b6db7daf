/** report.html: a run to look at. One file, no scripts, nothing loaded from anywhere. */
import type { ClusterResult } from '../commands/cluster-result.ts'
import type { ImageShape } from '../option-values.ts'
import type { OutFolder } from '../out-folder.ts'
import { type Confusion, confusionOf, nmiWords, reachWords } from '../truth.ts'
import { candidatesVary, methodReason, number, percent, settingsWords, startWords } from '../words.ts'
import { type Charts, loadCharts } from './charts.ts'
import { gallery } from './gallery.ts'
import { html, Markup } from './markup.ts'
import { mixtureSection, type PlaneRound } from './mixture.ts'
import { STYLE } from './style.ts'
import { keyFigures, mixedClasses, summary } from './summary.ts'

export interface ReportInput extends ClusterResult {
  readonly title: string
  readonly image: ImageShape | undefined
  readonly file: string
  readonly commandLine: string
  /** Of a mixture of points in the plane: what it looked like after its rounds. */
  readonly course?: readonly PlaneRound[] | undefined
}

/** Tables up to this long are shown open. */
const SHORT_TABLE = 12

export async function writeReport(out: OutFolder, input: ReportInput): Promise<void> {
  await out.saveText('report.html', page(input, await loadCharts()))
}

function page(input: ReportInput, charts: Charts): string {
  const { model, title, image, elements, truth } = input
  const { sizes, labels, facts, weights, sigmas } = model
  const order = Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a] || a - b)
  const settings = settingsWords(facts)
  const notes = [settings, methodReason(facts)].filter(Boolean).join('; ')
  const confusion = truth && confusionOf(labels, truth, facts.k)
  const body = html`<main>
<h1>${title}</h1>
${summary(input, input.file)}
${keyFigures(input)}
${courseOfTheRun(input, charts)}
${input.course && mixtureSection(input.course, charts)}
${image && gallery(model, image, elements, order, confusion)}
${confusion && classSection(input, confusion, charts)}
${table(sizes, order, confusion, weights && sigmas && { weights, sigmas })}
<section><h2>How it was made</h2>
<p class="soft">Method ${facts.method}${notes && ` (${notes})`}, from ${startWords(facts)}. Seed ${facts.seed}, metric ${facts.metric}. The same command on the same device gives the same centres and labels, bit for bit.</p>
<code>${input.commandLine}</code></section>
</main>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${html`<title>${title}</title>`.text}
<style>${STYLE}</style>
</head>
<body>
${body.text}
</body>
</html>
`
}

function courseOfTheRun({ model }: ReportInput, charts: Charts): Markup {
  const rounds = model.facts.iterations
  const sorted = Array.from(model.sizes).sort((a, b) => b - a)
  const still = rounds.some(({ moved }) => moved === 0)
  return html`<section><h2>Course of the run</h2><div class="charts">
${card('Distortion over rounds', charts.distortionByRound(rounds), 'Mean squared distance of a point to its centre.')}
${card('Distortion over time', charts.distortionByTime(rounds, runningSeconds(rounds.map(({ seconds }) => seconds))), 'Loading and choosing the first centres are part of the time.')}
${card('Points that moved', charts.movedByRound(rounds), `Points that changed their cluster in a round; each grid line is ten times the one below.${still ? ' In the last round none did.' : ''}`)}
${rounds[0].extra?.components === undefined ? undefined : card('Components left', charts.componentsByRound(rounds), 'Those that overlapped others too much went.')}
${rounds[0].extra?.logLikelihood === undefined ? undefined : card('Log-likelihood', charts.likelihoodByRound(rounds), 'Mean over the points, in nats, under the mixture each round began with.')}
${candidatesVary(model.facts) ? card('Centres looked at', charts.candidatesByRound(rounds), `Per point; there are ${number(model.facts.k)}.`) : undefined}
${card('Cluster sizes', charts.sizes(sorted), 'Points of each cluster.')}
</div></section>`
}

/** A resumed run counts its seconds from zero again; put end to end they only grow. */
function runningSeconds(seconds: readonly number[]): number[] {
  let before = 0
  return seconds.map((value, i) => {
    if (i > 0 && value < seconds[i - 1]) before += seconds[i - 1]
    return before + value
  })
}

export function card(title: string, picture: Markup, caption: string): Markup {
  return html`<figure class="card"><h3>${title}</h3>${picture}<figcaption>${caption}</figcaption></figure>`
}

function classSection({ model, agreement }: ReportInput, confusion: Confusion, charts: Charts): Markup {
  const { sizes } = model
  const { picture, clusters } = charts.confusion(confusion, sizes)
  const which = clusters < sizes.length ? `The ${clusters} largest clusters, sorted` : 'Sorted'
  return html`<section><h2>Clusters and classes</h2>
<p class="soft">${agreement && `${nmiWords(agreement)}. ${reachWords(agreement)} `}${mixedClasses(confusion)}</p>
<figure class="card"><div class="scroll">${picture}</div><figcaption>Each column is a cluster; the stronger the colour,
the larger the share of its points that belong to the class. ${which} by most frequent class, the purest first.</figcaption></figure></section>`
}

function table(
  sizes: Uint32Array,
  order: readonly number[],
  confusion: Confusion | undefined,
  mixture: { weights: Float32Array; sigmas: Float32Array } | undefined,
): Markup {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const rows = order.map((cluster) => {
    const size = sizes[cluster]
    const most = confusion?.majority[cluster]
    const classCells =
      confusion &&
      most &&
      (size > 0 ? html`<td>${confusion.classes[most.index]}<td>${percent(most.share)}` : html`<td>–<td>–`)
    return html`<tr><th scope="row">${cluster}<td>${number(size)}<td>${percent(size / total, 2)}${mixture && html`<td>${percent(mixture.weights[cluster], 2)}<td>${number(mixture.sigmas[cluster])}`}${classCells}`
  })
  const classHeads = confusion && html`<th scope="col">class<th scope="col">its share`
  const mixtureHeads = mixture && html`<th scope="col">weight<th scope="col">deviation`
  const open = new Markup(order.length <= SHORT_TABLE ? ' open' : '')
  return html`<section><h2>Numbers</h2><details${open}><summary>All ${number(order.length)} clusters, largest first</summary>
<div class="scroll"><table><thead><tr><th scope="col">cluster<th scope="col">points<th scope="col">share${mixtureHeads}${classHeads}<tbody>${rows}</table></div></details></section>`
}
