/** The scores of a sweep as tables and pages name them. */
import type { SweepBest, SweepStep } from '../../index.ts'
import { number } from '../format.ts'

export interface ScoreName {
  readonly score: keyof SweepBest
  readonly head: string
  readonly text: (value: number) => string
}

export const SCORES: readonly ScoreName[] = [
  { score: 'bic', head: 'BIC', text: (value) => number(Number(value.toPrecision(6))) },
  { score: 'silhouette', head: 'silhouette', text: (value) => value.toFixed(3) },
  { score: 'daviesBouldin', head: 'Davies-Bouldin', text: (value) => value.toFixed(3) },
  { score: 'calinskiHarabasz', head: 'Calinski-Harabasz', text: (value) => number(Number(value.toPrecision(4))) },
  { score: 'stability', head: 'stability', text: (value) => value.toFixed(3) },
]

/** A dash where the step has no such score. */
export function scoreText({ score, text }: ScoreName, step: SweepStep): string {
  const value = step[score]
  return value === undefined ? '–' : text(value)
}
