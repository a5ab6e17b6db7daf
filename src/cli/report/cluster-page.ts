/** report.html of a clustering. */

import { candidatesVary, methodReason, number, percent, repeatWords, settingsWords, startWords } from '../format.ts'
import type { Members } from '../members.ts'
import type { ClusterRun } from '../run-folder.ts'
import { type Agreement, type Confusion, nmiWords, reachWords } from '../truth.ts'
import { centerMaps } from './center-map.ts'
import { classChart } from './charts/classes.ts'
import {
  candidatesByRound,
  componentsByRound,
  distortionByRound,
  distortionByTime,
  likelihoodByRound,
  movedByRound,
  purgedByRound,
} from './charts/course.ts'
import { type Drawing, loadDrawing } from './charts/drawing.ts'
import { sizeChart } from './charts/sizes.ts'
import { card, howItWasMade, page, thinned } from './document.ts'
import { gallery, galleryStyle } from './gallery.ts'
import { machineSection } from './machines.ts'
import { html, Markup } from './markup.ts'
import { mixtureSection } from './mixture.ts'
import { keyFigures, mixedClasses, summary } from './summary.ts'

/** Tables up to this long are shown open. */
const SHORT_TABLE = 12
/** Longer ones are not useful; labels.npy has all labels. */
const LONGEST_TABLE = 2000

export async function clusterPage(title: string, run: ClusterRun): Promise<string> {
  const drawing = await loadDrawing()
  const { facts, sizes, notes } = run
  const { image, mixture, confusion, commandLine } = notes
  const order = sizes && Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a] || a - b)
  const methodNotes = [settingsWords(facts), methodReason(facts)].filter(Boolean).join('; ')
  const made = `Method ${facts.method}${methodNotes && ` (${methodNotes})`}, from ${startWords(facts)}. Seed ${facts.seed}, metric ${facts.metric}. ${repeatWords(facts.stopped, 'centres and labels')}`
  return page(
    title,
    html`${summary(run)}
${keyFigures(run)}
${courseOfTheRun(run, drawing)}
${mixture && mixtureSection(mixture, drawing)}
${clusterSection(run, drawing)}
${image && order && gallery(run, image, order)}
${confusion && sizes && classSection(confusion, notes.agreement, sizes, drawing)}
${notes.members && memberSection(notes.members)}
${notes.machines && machineSection(notes.machines)}
${sizes && order && numbers(run, sizes, order)}
${howItWasMade(made, commandLine)}`,
    image && order && galleryStyle(image, order.length),
  )
}

function courseOfTheRun({ facts }: ClusterRun, drawing: Drawing): Markup {
  const rounds = thinned(facts.iterations)
  const { extra } = rounds[0]
  const still = facts.iterations[facts.iterations.length - 1].moved === 0
  return html`<section><h2>Course of the run</h2><div class="charts">
${card('Distortion over rounds', distortionByRound(drawing, rounds), 'Mean squared distance of a point to its centre.')}
${card('Distortion over time', distortionByTime(drawing, rounds), 'Loading and choosing the first centres are part of the time.')}
${card('Points that moved', movedByRound(drawing, rounds), `Points that changed their cluster in a round; each grid line is ten times the one below.${still ? ' In the last round none did.' : ''}`)}
${extra?.purged === undefined ? undefined : card('Components left', componentsByRound(drawing, rounds), 'The number is searched for: components are merged, and split where that pays.')}
${extra?.purged === undefined ? undefined : card('Components removed', purgedByRound(drawing, rounds), 'By how many there are fewer after each round.')}
${extra?.logLikelihood === undefined ? undefined : card('Log-likelihood', likelihoodByRound(drawing, rounds), 'Mean over the points, in nats, under the mixture each round began with.')}
${card('Centres evaluated', candidatesByRound(drawing, rounds), candidateCaption(facts))}
</div></section>`
}

function candidateCaption(facts: ClusterRun['facts']): string {
  const { k, iterations } = facts
  const finds = iterations[0].extra?.purged !== undefined
  if (candidatesVary(facts)) return `Per point; there are ${number(k)}${finds ? ' in the end' : ''}.`
  const all = iterations[0].candidates >= k
  return `Per point, the same in every round${all ? ': all centres' : `; there are ${number(k)}`}.`
}

function clusterSection({ sizes, centers }: ClusterRun, drawing: Drawing): Markup | undefined {
  const sorted = sizes && Array.from(sizes).sort((a, b) => b - a)
  const map = centerMaps(drawing, [{ centers, sizes }])
  if (sorted === undefined && map === undefined) return undefined
  return html`<section><h2>Clusters</h2><div class="charts">
${sorted && card('Cluster sizes', sizeChart(drawing, sorted), 'Points of each cluster.')}
${map && card('Map of the centres', map.pictures[0], map.caption)}
</div></section>`
}

function memberSection(members: readonly Members[]): Markup {
  const rows = members.map(
    ({ cluster, size, names }) =>
      html`<tr><td>${number(cluster)}</td><td>${number(size)}</td><td class="text">${names.join(', ')}${size > names.length ? ', ...' : ''}</td></tr>`,
  )
  return html`<section><h2>Members by name</h2><p>The first rows of the largest clusters.</p>
<table><thead><tr><th>Cluster</th><th>Points</th><th>Names</th></tr></thead><tbody>${rows}</tbody></table></section>`
}

function classSection(
  confusion: Confusion,
  agreement: Agreement | undefined,
  sizes: Uint32Array,
  drawing: Drawing,
): Markup {
  const { picture, clusters } = classChart(drawing, confusion, sizes)
  const which = clusters < sizes.length ? `The ${clusters} largest clusters, sorted` : 'Sorted'
  return html`<section><h2>Clusters and classes</h2>
<p class="soft">${agreement && `${nmiWords(agreement)}. ${reachWords(agreement)} `}${mixedClasses(confusion)}</p>
<figure class="card"><div class="scroll">${picture}</div><figcaption>Each column is a cluster; the stronger the colour,
the larger the share of its points that belong to the class. ${which} by most frequent class, the purest first.</figcaption></figure></section>`
}

function numbers({ notes, weights, sigmas }: ClusterRun, sizes: Uint32Array, order: readonly number[]): Markup {
  const { confusion } = notes
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const rows = order.slice(0, LONGEST_TABLE).map((cluster) => {
    const size = sizes[cluster]
    const most = confusion?.majority[cluster]
    const classCells =
      confusion &&
      most &&
      (size > 0 ? html`<td>${confusion.classes[most.index]}<td>${percent(most.share)}` : html`<td>–<td>–`)
    return html`<tr><th scope="row">${cluster}<td>${number(size)}<td>${percent(size / total, 2)}${weights && sigmas && html`<td>${percent(weights[cluster], 2)}<td>${number(sigmas[cluster])}`}${classCells}`
  })
  const classHeads = confusion && html`<th scope="col">class<th scope="col">its share`
  const mixtureHeads = weights && sigmas && html`<th scope="col">weight<th scope="col">deviation`
  const open = new Markup(order.length <= SHORT_TABLE ? ' open' : '')
  const all =
    order.length > LONGEST_TABLE
      ? `The ${number(LONGEST_TABLE)} largest of ${number(order.length)} clusters`
      : `All ${number(order.length)} clusters`
  const which = order.length === 1 ? 'The only cluster' : `${all}, largest first`
  return html`<section><h2>Numbers</h2><details${open}><summary>${which}</summary>
<div class="scroll"><table><thead><tr><th scope="col">cluster<th scope="col">points<th scope="col">share${mixtureHeads}${classHeads}<tbody>${rows}</table></div></details></section>`
}
