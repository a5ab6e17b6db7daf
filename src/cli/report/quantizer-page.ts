/** report.html of a quantizer, and that of a search among its codes. */
import { basename } from 'node:path'
import type { ElementType, QuantizerStop } from '../../index.ts'
import { bytes, count, duration, number, percent, repeatWords } from '../format.ts'
import { type QuantizerRun, runSeconds } from '../run-folder.ts'
import { distortionByRound, distortionByTime } from './charts/course.ts'
import { loadDrawing } from './charts/drawing.ts'
import { bars, distanceByRank } from './charts/ranks.ts'
import { card, figures, howItWasMade, page, table, thinned } from './document.ts'
import { machineSection } from './machines.ts'
import { html, type Markup } from './markup.ts'

/** To follow "stopped after 12 rounds: ". */
export const STOP_WORDS: Readonly<Record<QuantizerStop, string>> = {
  iterations: 'that was the limit (--iterations)',
  tolerance: 'the last one lowered the distortion by too little (--tolerance)',
  aborted: 'it was interrupted',
}

export const TYPE_WORDS = {
  ck: 'Cartesian k-means',
  pq: 'product quantization',
  ok: 'orthogonal k-means',
  itq: 'iterative quantization',
} as const

/** Bytes of an original vector; without notes, 32-bit floats are assumed. */
export function originalBytes(cols: number, elements: ElementType | undefined): number {
  return elements === 'u8' ? cols : 4 * cols
}

export async function quantizerPage(title: string, run: QuantizerRun): Promise<string> {
  const drawing = await loadDrawing()
  const { quantizer, notes } = run
  const { facts, codec, codeBytes, distortion } = quantizer
  const original = originalBytes(codec.cols, notes.elements)
  const rounds = thinned(facts.iterations)
  const of = notes.file === undefined ? '' : ` of ${basename(notes.file)}`
  const first = facts.iterations[0].distortion
  const fall =
    distortion < first * 0.9995 ? `, ${percent(1 - distortion / first, 1)} below that of the first round` : ''
  const turning = facts.iterations.reduce((sum, { rotationSeconds }) => sum + rotationSeconds, 0)
  const spent = turning > 0 ? ` Finding rotations took ${duration(turning)} of it.` : ''
  const made = `Type ${facts.type} (${TYPE_WORDS[facts.type]}): ${count(facts.m, 'code')} of ${count(facts.codewords, 'codeword')} each, ${facts.rank} of ${count(codec.cols, 'dimension')} kept, order ${facts.order}. Seed ${facts.seed}. ${repeatWords(facts.stopped, 'quantizer')}`
  return page(
    title,
    html`<p class="lead">A quantizer by ${TYPE_WORDS[facts.type]}, learned from the ${count(facts.rows, 'vector')}${of} in
${duration(runSeconds(run))}.${spent} It writes a vector of ${count(original, 'byte')} as ${count(codeBytes, 'byte')}, ${ratioWords(original, codeBytes)}.
The distortion, which is the mean squared distance of a vector to what its codes stand for, is ${number(distortion)}${fall}.
Training stopped after ${count(facts.iterations.length, 'round')}: ${STOP_WORDS[facts.stopped]}.</p>
${figures(
  [
    ['type', facts.type],
    ['bytes a vector', number(codeBytes)],
    ['bytes before', number(original)],
    ['codes', number(facts.m)],
    ['codewords each', number(facts.codewords)],
    ['dimensions kept', `${number(facts.rank)} of ${number(codec.cols)}`],
    ['distortion', number(distortion)],
    [facts.iterations.length === 1 ? 'round' : 'rounds', number(facts.iterations.length)],
    ['time', duration(runSeconds(run))],
  ],
  [[`device: ${facts.device.reason}`, facts.device.name]],
)}
<section><h2>Course of the training</h2><div class="charts">
${card('Distortion over rounds', distortionByRound(drawing, rounds), 'Mean squared distance of a vector to what its codes stand for.')}
${card('Distortion over time', distortionByTime(drawing, rounds), 'Time spent on training, the start included.')}
</div></section>
<section><h2>Bytes</h2><div class="charts">
${card('Bytes a vector', byteBars(drawing, original, codeBytes), notes.elements === undefined ? 'Before: taken for 32-bit floats.' : 'Before, and as codes. What the codewords take is not counted.')}
<figure class="card"><h3>Many vectors</h3>${byteTable(original, codeBytes)}</figure>
</div></section>
${notes.machines && machineSection(notes.machines)}
${howItWasMade(made, notes.commandLine)}`,
  )
}

function ratioWords(original: number, codes: number): string {
  const times = original / codes
  return times >= 1 ? `${number(Number(times.toPrecision(3)))} times less` : 'which is more than before'
}

function byteBars(drawing: Awaited<ReturnType<typeof loadDrawing>>, original: number, codes: number): Markup {
  return bars(drawing, 'Bars: bytes of a vector before and as codes', [
    { name: 'vector', value: original, words: count(original, 'byte') },
    { name: 'codes', value: codes, words: count(codes, 'byte') },
  ])
}

function byteTable(original: number, codes: number): Markup {
  return table(
    ['vectors', 'as they are', 'as codes'],
    [1e6, 1e8, 1e9].map((rows) => [
      rows >= 1e9 ? 'a billion' : rows >= 1e8 ? '100 million' : 'a million',
      bytes(rows * original),
      bytes(rows * codes),
    ]),
  )
}

export interface SearchFacts {
  readonly quantizer: string
  readonly codesFile: string
  readonly queriesFile: string
  readonly queries: number
  readonly codes: number
  readonly cols: number
  readonly codeBytes: number
  readonly elements: ElementType
  readonly seconds: number
  readonly device: string
  readonly distance: string
  readonly reranked: boolean
  /** queries x m. */
  readonly m: number
  readonly distances: Float32Array
  readonly commandLine: string
}

export async function searchPage(facts: SearchFacts): Promise<string> {
  const drawing = await loadDrawing()
  const { queries, codes, m, codeBytes, cols, elements, seconds } = facts
  const original = originalBytes(cols, elements)
  const measured = facts.reranked ? 'measured by the vectors themselves' : `${facts.distance} distances of codes`
  const made = `Every query was compared with every code (${facts.distance})${facts.reranked ? ', and the best candidates once more with the vectors themselves' : ''}. Quantizer: ${facts.quantizer}.`
  return page(
    `Search in ${basename(facts.codesFile)}`,
    html`<p class="lead">The ${number(Math.min(m, codes))} nearest of ${count(codes, 'code')} were found for each of ${count(queries, 'query', 'queries')}
of ${basename(facts.queriesFile)} in ${duration(seconds)}, reading the files included. The codes take ${bytes(codes * codeBytes)}; vectors like the
queries would take ${bytes(codes * original)}. How many true neighbours are among those found,
centroidal evaluate neighbours tells.</p>
${figures(
  [
    ['queries', number(queries)],
    ['codes', number(codes)],
    ['found for each', number(Math.min(m, codes))],
    ['bytes a code', number(codeBytes)],
    ['time', duration(seconds)],
    ['comparisons a second', number(Number(((queries * codes) / seconds).toPrecision(2)))],
  ],
  [['device', facts.device]],
)}
<section><h2>What was found</h2><div class="charts">
${card('Distance by place', distanceByRank(drawing, meansByRank(facts)), `Mean over the queries of what was found first, second and so on: ${measured}${facts.distance === 'hamming' && !facts.reranked ? ', in bits' : ', squared'}.`)}
${card('Bytes a vector', byteBars(drawing, original, codeBytes), 'A vector like the queries, and its codes.')}
</div></section>
${howItWasMade(made, facts.commandLine)}`,
  )
}

/** Places that no code was left for count nowhere. */
function meansByRank({ distances, m, queries, codes }: SearchFacts): number[] {
  return Array.from({ length: Math.min(m, codes, 1000) }, (_, place) => {
    let sum = 0
    for (let query = 0; query < queries; query++) sum += distances[query * m + place]
    return sum / queries
  })
}
