/** Reports of evaluations: neighbours that were found against the true ones, rankings against known groups. */
import { basename } from 'node:path'
import { averagePrecision, type Integers, type RankingQuality, recallAt } from '../../index.ts'
import { count, number, percent } from '../format.ts'
import { loadDrawing } from './charts/drawing.ts'
import { recallCurve, sortedShares } from './charts/ranks.ts'
import { card, figures, howItWasMade, page, table } from './document.ts'
import { html } from './markup.ts'

/** The curve goes up to here. */
const MOST_RANKS = 100
const ROUND_RANKS = [1, 2, 5, 10, 20, 50, 100]
/** Queries whose rankings are worth a look. */
const WORST = 10

/** Recall among the first 1, 2, 3 and so on. */
export function recallsOf(found: Integers, known: Integers): number[] {
  return Array.from({ length: Math.min(MOST_RANKS, found.cols) }, (_, i) => recallAt(found, known, i + 1))
}

export async function neighboursPage(
  files: { readonly found: string; readonly truth: string },
  found: Integers,
  known: Integers,
  commandLine: string,
): Promise<string> {
  const drawing = await loadDrawing()
  const recalls = recallsOf(found, known)
  const ranks = ROUND_RANKS.filter((rank) => rank <= recalls.length)
  const most = recalls.length
  const lead =
    most === 1
      ? `For ${percent(recalls[0], 1)} of ${count(found.rows, 'query', 'queries')} the one neighbour that was found is the true nearest.`
      : `Of ${count(found.rows, 'query', 'queries')} ${percent(recalls[0], 1)} have their true nearest neighbour in the first place, and ${percent(recalls[most - 1], 1)} among the first ${most}.`
  const made = `What was found: ${basename(files.found)}, ${count(found.cols, 'neighbour')} a query. The truth: ${basename(files.truth)}.`
  return page(
    `Recall of ${basename(files.found)}`,
    html`<p class="lead">${lead} Recall@R is the share of queries whose true nearest neighbour is among the first R found.</p>
${figures([['queries', number(found.rows)], ...[1, 10, 100].filter((r) => r <= most).map((r) => [`recall@${r}`, percent(recalls[r - 1], 1)] as const)])}
<section><h2>Recall</h2><div class="charts">
${card('Recall over R', recallCurve(drawing, recalls), 'R is on a logarithmic scale.')}
<figure class="card"><h3>Numbers</h3>${table(
      ['R', 'recall@R'],
      ranks.map((rank) => [`${rank}`, percent(recalls[rank - 1], 2)]),
    )}</figure>
</div></section>
${howItWasMade(made, commandLine)}`,
  )
}

export interface JudgedRanking {
  readonly query: number
  readonly images: readonly number[]
}

export async function rankingPage(
  file: string,
  rankings: readonly JudgedRanking[],
  groups: ReadonlyMap<number, number>,
  quality: RankingQuality,
  commandLine: string,
): Promise<string> {
  const drawing = await loadDrawing()
  const members = new Map<number, number[]>()
  for (const [image, group] of groups) {
    const others = members.get(group)
    if (others) others.push(image)
    else members.set(group, [image])
  }
  const judged = rankings.flatMap(({ query, images }) => {
    const others = (members.get(groups.get(query) ?? Number.NaN) ?? []).filter((image) => image !== query)
    if (others.length === 0) return []
    const precision = averagePrecision(
      images.filter((image) => image !== query),
      others,
    )
    return [{ query, precision, others: others.length }]
  })
  judged.sort((a, b) => a.precision - b.precision || a.query - b.query)
  const alone =
    quality.alone > 0 ? ` ${count(quality.alone, 'image')} without others in the group: not in the mAP.` : ''
  return page(
    `Rankings of ${basename(file)}`,
    html`<p class="lead">${count(quality.queries, 'ranking')}: the mean average precision (mAP) is ${quality.map.toFixed(4)}, where 1 means that the rest of the group
always comes first; ${quality.nsScore.toFixed(2)} of the first 4 belong to the group in the mean.${alone}</p>
${figures([
  ['rankings', number(quality.queries)],
  ['mAP', quality.map.toFixed(4)],
  ['N-S score', quality.nsScore.toFixed(3)],
])}
${
  judged.length === 0
    ? undefined
    : html`<section><h2>Queries</h2><div class="charts">
${card(
  'Average precision',
  sortedShares(
    drawing,
    'Line: average precision of the queries, lowest first',
    'queries, worst first',
    judged.map(({ precision }) => precision),
  ),
  'Of every query that has others in its group, the lowest first.',
)}
<figure class="card"><h3>The worst</h3>${table(
        ['query', 'average precision', 'others in its group'],
        judged
          .slice(0, WORST)
          .map(({ query, precision, others }) => [`${query}`, precision.toFixed(3), number(others)]),
      )}</figure>
</div></section>`
}
${howItWasMade(`Rankings: ${basename(file)}. The image asked about does not count for the mAP.`, commandLine)}`,
  )
}
