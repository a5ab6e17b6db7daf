/** A run in words: the paragraph and the figures at the head of a report. */
import { basename } from 'node:path'
import type { ClusterResult } from '../commands/cluster-result.ts'
import { summarizeSizes } from '../sizes.ts'
import { type Confusion, purityWords } from '../truth.ts'
import { candidateWords, count, duration, number, percent, stopWords } from '../words.ts'
import { html, type Markup } from './markup.ts'

export function summary({ model, elements, seconds, agreement }: ClusterResult, file: string): Markup {
  const { facts, distortion, sizes } = model
  const { smallest, median, largest } = summarizeSizes(sizes)
  const width = elements === 'u8' ? count(facts.cols, 'byte') : count(facts.cols, 'number')
  const rounds = count(facts.iterations.length, 'round')
  const first = facts.iterations[0].distortion
  const fall = distortion < first ? `, ${percent(1 - distortion / first, 1)} below that of the first round` : ''
  return html`<p class="lead">The ${count(facts.rows, 'vector')} of ${basename(file)}, ${width} each, were put into
${count(facts.k, 'cluster')} in ${duration(seconds)}. The distortion, which is the mean squared distance of a vector to
its centre, is ${number(distortion)}${fall}. The run stopped after ${rounds} of ${facts.method}: ${stopWords(facts)};
it looked at ${candidateWords(facts)}. The smallest cluster
has ${count(smallest, 'point')}, the middle one ${number(median)}, the largest ${number(largest)}.${
    agreement ? ` Compared with the known classes, ${purityWords(agreement)}.` : ''
  }</p>`
}

export function keyFigures({ model, seconds, agreement }: ClusterResult): Markup {
  const { facts, distortion } = model
  const figures: [string, string][] = [
    ['points', number(facts.rows)],
    ['dimensions', number(facts.cols)],
    ['clusters', number(facts.k)],
    ['distortion', number(distortion)],
    [facts.iterations.length === 1 ? 'round' : 'rounds', number(facts.iterations.length)],
    ['time', duration(seconds)],
  ]
  const looked = facts.iterations[facts.iterations.length - 1].candidates
  // Where it is all of them, the number of clusters says it.
  if (looked < facts.k) figures.push(['centres looked at', number(Number(looked.toPrecision(3)))])
  if (agreement) {
    figures.push(
      ['NMI', agreement.nmi.toFixed(3)],
      ['purity', percent(agreement.purity, 1)],
      ['adjusted Rand index', agreement.ari.toFixed(3)],
      ['entropy', agreement.entropy.toFixed(3)],
    )
  }
  return html`<dl class="figures">${figures.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
<div class="wide"><dt>device: ${facts.device.reason}</dt><dd>${facts.device.name}</dd></div></dl>`
}

/** Which classes are hardest to tell apart, in a sentence. Empty if none share a cluster. */
export function mixedClasses({ classes, counts, majority }: Confusion): string {
  const width = classes.length
  const shared = new Map<string, number>()
  majority.forEach(({ index }, cluster) => {
    for (let other = 0; other < width; other++) {
      const points = counts[cluster * width + other]
      if (other === index || points === 0) continue
      const pair = [classes[index], classes[other]].sort((a, b) => a - b).join(' and ')
      shared.set(pair, (shared.get(pair) ?? 0) + points)
    }
  })
  const worst = [...shared].sort((a, b) => b[1] - a[1]).slice(0, 3)
  if (worst.length === 0) return ''
  const pairs = worst.map(([pair, points]) => `${pair} (${count(points, 'point')})`)
  return `Classes found most often in each other’s clusters: ${pairs.join(', ')}.`
}
