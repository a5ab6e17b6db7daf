/** report.html of `centroidal bench`: the methods in one table and one picture. */
import type { RaceResult } from '../bench/race.ts'
import { endWords, type Verdict } from '../bench/verdict.ts'
import { count, fineDuration, number, percent } from '../format.ts'
import { loadDrawing } from './charts/drawing.ts'
import { distortionOverlay, legend, type Series } from './charts/overlay.ts'
import { card, figures, howItWasMade, page, table, thinned } from './document.ts'
import { html, type Markup } from './markup.ts'

export interface BenchFacts {
  readonly title: string
  readonly file: string
  readonly rows: number
  readonly cols: number
  readonly sparse: boolean
  readonly k: number
  readonly seconds: number
  readonly seed: number
  readonly metric: string
  readonly device: { readonly name: string; readonly reason: string }
  readonly commandLine: string
}

/** Said in the terminal and in the report. */
export const FAIRNESS =
  'Methods run one after another, each with the same time from the moment it gets the vectors: loading them onto the device and choosing the first centres count. Each begins the way it does by default, with the same seed. A round that is not done when the time is up does not count.'

export async function benchPage(facts: BenchFacts, verdict: Verdict, results: readonly RaceResult[]): Promise<string> {
  const drawing = await loadDrawing()
  const ordered = verdict.rows.flatMap(({ method }) =>
    results.filter((result) => result.method === method && result.rounds.length > 0),
  )
  const series = (x: 'seconds' | 'iteration'): Series[] =>
    ordered.map(({ method, rounds }) => ({
      name: method,
      points: thinned(rounds).map((round) => [round[x], round.distortion]),
    }))
  const pictures = (): Markup => {
    const byTime = distortionOverlay(drawing, series('seconds'), 'seconds')
    const byRound = distortionOverlay(drawing, series('iteration'), 'round')
    return html`<section><h2>Course</h2>${legend(ordered.map(({ method }) => method))}<div class="charts">
${card('Distortion over time', byTime.picture, `Mean squared distance of a vector to its centre: lower and further left is better. ${byTime.remarks}`)}
${card('Distortion over rounds', byRound.picture, `Rounds of different methods do different amounts of work. ${byRound.remarks}`)}
</div></section>`
  }
  return page(
    facts.title,
    html`<p class="lead">${verdict.sentence}</p>
${figures(
  [
    ['vectors', number(facts.rows)],
    [facts.sparse ? 'dimensions, sparse' : 'dimensions', number(facts.cols)],
    ['clusters', number(facts.k)],
    ['time for each', fineDuration(facts.seconds)],
    ['methods', number(results.length)],
  ],
  [[`device: ${facts.device.reason}`, facts.device.name]],
)}
<section><h2>Methods</h2>${benchTable(verdict)}
<p class="soft">Above best: the distortion in the end, against the lowest of all. Within 1%: time until the distortion was within 1% of the lowest of all.</p></section>
${ordered.length > 0 ? pictures() : undefined}
${howItWasMade(`${FAIRNESS} ${count(facts.k, 'cluster')}, seed ${facts.seed}, metric ${facts.metric}. Times differ from machine to machine, and the order of the methods may too.`, facts.commandLine)}`,
  )
}

function benchTable({ rows, best }: Verdict): Markup {
  return table(
    ['method', 'distortion', 'above best', 'rounds', 'last round ended', 'within 1% after', ''],
    rows.map((row) => [
      row.method === best ? html`<span class="best">${row.method}</span>` : row.method,
      row.distortion === undefined ? '–' : number(row.distortion),
      row.above === undefined ? '–' : percent(row.above, 2),
      number(row.rounds),
      row.rounds === 0 ? '–' : fineDuration(row.seconds),
      row.secondsToNear === undefined ? 'never' : fineDuration(row.secondsToNear),
      endWords(row),
    ]),
  )
}
