/** The summary of a run: the paragraph and the figures at the head of a report. */
import { basename } from 'node:path'
import { candidateWords, count, duration, number, percent, stopWords } from '../format.ts'
import { type ClusterRun, runSeconds } from '../run-folder.ts'
import { summarizeSizes } from '../sizes.ts'
import { byClass, type Confusion, purityWords } from '../truth.ts'
import { figures } from './document.ts'
import { html, type Markup } from './markup.ts'

export function summary(run: ClusterRun): Markup {
  const { facts, sizes, notes } = run
  const distortion = facts.iterations[facts.iterations.length - 1].distortion
  const rounds = count(facts.iterations.length, 'round')
  const first = facts.iterations[0].distortion
  const fall =
    distortion < first * 0.9995 ? `, ${percent(1 - distortion / first, 1)} below that of the first round` : ''
  const of = notes.file === undefined ? '' : ` of ${basename(notes.file)}`
  return html`<p class="lead">The ${count(facts.rows, 'vector')}${of}, ${widthWords(run)}, were put into
${count(facts.k, 'cluster')} in ${duration(runSeconds(run))}. The distortion, which is the mean squared distance of a vector to
its centre, is ${number(distortion)}${fall}. The run stopped after ${rounds} of ${facts.method}: ${stopWords(facts)};
it evaluated ${candidateWords(facts)}. ${sizes ? sizeWords(sizes) : 'The folder has no labels.npy, so sizes of the clusters are not known.'}${
    facts.certainty ? ` ${facts.certainty.sentence}` : ''
  }${notes.agreement ? ` Compared with the known classes, ${purityWords(notes.agreement)}.` : ''}</p>`
}

/** For example "8 numbers each". */
function widthWords({ facts: { rows, cols }, notes }: ClusterRun): string {
  const { elements, sparseEntries } = notes
  if (elements === 'u8') return `${count(cols, 'byte')} each`
  const numbers = `${count(cols, 'number')} each`
  if (sparseEntries === undefined) return numbers
  const share = sparseEntries / (rows * cols)
  const filled = share < 0.01 ? `${Number((share * 100).toPrecision(1))}%` : percent(share)
  return `${numbers} and sparse (${number(Number((sparseEntries / rows).toPrecision(3)))} of them not zero on average, ${filled})`
}

function sizeWords(sizes: Uint32Array): string {
  const { smallest, median, largest } = summarizeSizes(sizes)
  if (sizes.length === 1) return `The cluster has ${count(largest, 'point')}.`
  return `The smallest cluster has ${count(smallest, 'point')}, the middle one ${number(median)}, the largest ${number(largest)}.`
}

export function keyFigures(run: ClusterRun): Markup {
  const { facts, notes } = run
  const { agreement, sparseEntries } = notes
  const last = facts.iterations[facts.iterations.length - 1]
  const values: [string, string][] = [
    ['points', number(facts.rows)],
    [sparseEntries === undefined ? 'dimensions' : 'dimensions, sparse', number(facts.cols)],
    ['clusters', number(facts.k)],
    ['distortion', number(last.distortion)],
    [facts.iterations.length === 1 ? 'round' : 'rounds', number(facts.iterations.length)],
    ['time', duration(runSeconds(run))],
  ]
  // Where it is all of them, the number of clusters says it.
  if (last.candidates < facts.k) values.push(['centres evaluated', number(Number(last.candidates.toPrecision(3)))])
  if (last.extra?.logLikelihood !== undefined) values.push(['log-likelihood', number(last.extra.logLikelihood)])
  if (agreement) {
    values.push(
      ['NMI', agreement.nmi.toFixed(3)],
      ['purity', percent(agreement.purity, 1)],
      ['adjusted Rand index', agreement.ari.toFixed(3)],
      ['entropy', agreement.entropy.toFixed(3)],
    )
  }
  return figures(values, [[`device: ${facts.device.reason}`, facts.device.name]])
}

/** Which classes are hardest to tell apart, in a sentence. Empty if none share a cluster. */
export function mixedClasses({ classes, counts, majority }: Confusion): string {
  const width = classes.length
  const shared = new Map<string, number>()
  majority.forEach(({ index }, cluster) => {
    for (let other = 0; other < width; other++) {
      const points = counts[cluster * width + other]
      if (other === index || points === 0) continue
      const pair = [classes[index], classes[other]].sort(byClass).join(' and ')
      shared.set(pair, (shared.get(pair) ?? 0) + points)
    }
  })
  const worst = [...shared].sort((a, b) => b[1] - a[1]).slice(0, 3)
  if (worst.length === 0) return ''
  const pairs = worst.map(([pair, points]) => `${pair} (${count(points, 'point')})`)
  return `Classes found most often in each other’s clusters: ${pairs.join(', ')}.`
}
