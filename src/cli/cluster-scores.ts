/** Labels judged by the vectors they belong to, where no classes are known. */
import { calinskiHarabasz, daviesBouldin, openVectors, SILHOUETTE_EXACT_ROWS, silhouette } from '../index.ts'
import { number } from './format.ts'
import { createProgressView } from './progress/view.ts'
import type { Session } from './session.ts'

export interface ClusterScores {
  readonly silhouette: number
  readonly silhouetteMethod: 'exact' | 'simplified'
  readonly daviesBouldin: number
  readonly calinskiHarabasz: number
}

/** Shorter waits need no progress. */
const PATIENCE_MS = 1000

/** Progress is shown if it takes longer than a second; Ctrl-C stops it. */
export async function scoreLabels(session: Session, file: string, labels: ArrayLike<number>): Promise<ClusterScores> {
  const signal = session.interruption()
  const view = createProgressView(session.stderr, false, signal)
  const started = performance.now()
  const watch = (label: string) => ({
    signal,
    onProgress: (share: number): void => {
      if (share < 1 && performance.now() - started > PATIENCE_MS) view.show({ label, share })
    },
  })
  const source = await openVectors(file)
  const method = source.rows <= SILHOUETTE_EXACT_ROWS ? 'exact' : 'simplified'
  try {
    return {
      silhouette: await silhouette(source, labels, { method, ...watch('computing the silhouette') }),
      silhouetteMethod: method,
      daviesBouldin: await daviesBouldin(source, labels, watch('computing the Davies-Bouldin index')),
      calinskiHarabasz: await calinskiHarabasz(source, labels, watch('computing the Calinski-Harabasz index')),
    }
  } finally {
    view.stop()
    await source.close?.()
  }
}

export function scoreWords(scores: ClusterScores): readonly string[] {
  const { silhouetteMethod: method } = scores
  const how = method === 'exact' ? 'exact' : 'simplified: by the means of the clusters'
  return [
    `silhouette ${scores.silhouette.toFixed(3)} (-1 to 1, higher is better; ${how})`,
    `Davies-Bouldin index ${number(Number(scores.daviesBouldin.toPrecision(4)))} (0 or more, lower is better)`,
    `Calinski-Harabasz index ${number(Number(scores.calinskiHarabasz.toPrecision(4)))} (0 or more, higher is better)`,
  ]
}
