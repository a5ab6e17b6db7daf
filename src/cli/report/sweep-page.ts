/** report.html of `centroidal sweep`: curves of all scores over the number of clusters, a table, and the advice. */
import type { SweepBest, SweepResult } from '../../index.ts'
import { count, duration, fineDuration, number } from '../format.ts'
import { SCORES, scoreText } from '../sweep/score-names.ts'
import { type Drawing, loadDrawing } from './charts/drawing.ts'
import { scoreByCount } from './charts/scores.ts'
import { card, figures, howItWasMade, page, table } from './document.ts'
import { html, type Markup } from './markup.ts'

export interface SweepFacts {
  readonly title: string
  readonly file: string
  readonly rows: number
  readonly cols: number
  readonly sparse: boolean
  readonly method: string
  readonly metric: string
  readonly seed: number
  readonly seeds: number
  readonly seconds: number
  readonly device: { readonly name: string; readonly reason: string }
  readonly commandLine: string
}

export async function sweepPage(facts: SweepFacts, result: SweepResult): Promise<string> {
  const drawing = await loadDrawing()
  const { steps, advice, aborted } = result
  const [first, last] = [steps[0].k, steps[steps.length - 1].k]
  const counts = first === last ? number(first) : `${number(first)} to ${number(last)}`
  const stopped = aborted ? ' It was stopped before the largest number of clusters was reached.' : ''
  return page(
    facts.title,
    html`<p class="lead"><strong>${advice}</strong></p>
${figures(
  [
    ['vectors', number(facts.rows)],
    [facts.sparse ? 'dimensions, sparse' : 'dimensions', number(facts.cols)],
    ['numbers of clusters', counts],
    ['clusterings', number(steps.length * facts.seeds)],
    ['time', duration(facts.seconds)],
  ],
  [[`device: ${facts.device.reason}`, facts.device.name]],
)}
${curves(drawing, result)}
<section><h2>Numbers</h2>${numbers(result)}
<p class="soft">The best of each column is set in bold. Rounds: of the clustering that is scored. Time: the clusterings of all seeds, and the scores.</p></section>
${howItWasMade(
  `Method ${facts.method}, metric ${facts.metric}, ${count(facts.seeds, 'seed')} from ${facts.seed} on. Every clustering began from the one with fewer clusters: the clusters whose split lowers the distortion most were split in two.${seedsOf(facts, result)}${stopped}`,
  facts.commandLine,
)}`,
  )
}

/** What the further seeds were for. */
function seedsOf({ seeds, rows }: SweepFacts, { steps }: SweepResult): string {
  const counts = steps.flatMap(({ stabilityRows }) => stabilityRows ?? [])
  if (seeds === 1 || counts.length === 0) return ''
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  if (least === rows) return ' Of the clusterings of a step, the best is scored.'
  const sample = least === most ? number(least) : `${number(least)} to ${number(most)}`
  return ` The clustering of the first seed is scored. The others cluster a random sample of ${sample} vectors, on which the stability is measured.`
}

function captions({ silhouetteForm }: SweepResult): Readonly<Record<keyof SweepBest, string>> {
  const form = silhouetteForm === 'exact' ? '' : ', judged by the means of the clusters (the simplified silhouette)'
  return {
    bic: 'How likely the clusters make the vectors, less a penalty for every number they take. Lower is better.',
    silhouette: `How much nearer vectors are to their own cluster than to the next one${form}. Higher is better.`,
    daviesBouldin: 'How much a cluster resembles the one most like it, on average. Lower is better.',
    calinskiHarabasz: 'The spread between clusters over the spread within them. Higher is better.',
    stability: 'How far the clusterings of different seeds agree: 1 where they are the same (adjusted Rand index).',
  }
}

function curves(drawing: Drawing, result: SweepResult): Markup {
  const { steps, elbow, best } = result
  const counts = steps.map(({ k }) => k)
  const caption = captions(result)
  const distortion = scoreByCount(
    drawing,
    'distortion',
    steps.map((step) => [step.k, step.distortion]),
    counts,
    elbow === undefined ? undefined : { k: elbow, name: 'elbow' },
  )
  const bend = elbow === undefined ? ' The curve has no clear elbow.' : ''
  const pictures = SCORES.flatMap(({ score, head }) => {
    const points = steps.flatMap((step) => (step[score] === undefined ? [] : [[step.k, step[score]] as const]))
    if (points.length === 0) return []
    const k = best[score]
    const picture = scoreByCount(drawing, head, points, counts, k === undefined ? undefined : { k, name: 'best' })
    return [
      card(score === 'stability' ? 'Stability' : score === 'silhouette' ? 'Silhouette' : head, picture, caption[score]),
    ]
  })
  return html`<section><h2>Curves</h2><p class="soft">Over the number of clusters, which is on a logarithmic scale.</p><div class="charts">
${card('Distortion', distortion, `Mean squared distance of a vector to its centre. It falls with every cluster; where it stops falling fast is the elbow.${bend}`)}
${pictures}
</div></section>`
}

function numbers({ steps, best, elbow, advised }: SweepResult): Markup {
  const strong = (text: string, isBest: boolean): Markup | string =>
    isBest ? html`<span class="best">${text}</span>` : text
  return table(
    ['clusters', 'distortion', ...SCORES.map(({ head }) => head), 'rounds', 'time'],
    steps.map((step) => [
      strong(number(step.k), step.k === advised),
      strong(number(step.distortion), step.k === elbow),
      ...SCORES.map((name) => strong(scoreText(name, step), best[name.score] === step.k)),
      number(step.rounds),
      fineDuration(step.seconds),
    ]),
  )
}
