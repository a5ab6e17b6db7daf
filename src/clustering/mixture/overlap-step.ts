/** Components that overlap others go, as in the paper: see purge.ts. */

import type { Mixture } from '../../models/mixture.ts'
import { type CandidateSource, type RunState, readCenters, replaceCenters } from '../run-state.ts'
import type { ComponentStep, StepInput, StepResult } from './component-step.ts'
import { joinComponents } from './join.ts'
import { considerOverlaps } from './overlaps.ts'
import { Purge } from './purge.ts'

export class OverlapStep implements ComponentStep {
  readonly done = true
  readonly #tau: number

  constructor(tau: number) {
    this.#tau = tau
  }

  async after(state: RunState, source: CandidateSource, { ownShares, round }: StepInput): Promise<StepResult> {
    const { k, points } = state
    const mixture = state.mixture as Mixture
    const centers = await readCenters(state)
    const purge = new Purge(
      { ...mixture, ownShares, cols: points.cols, points: state.totalWeight / state.weightScale },
      this.#tau,
    )
    const evaluated = await considerOverlaps(state, source, purge, centers, round)
    const { renamed, heirs, kept, joined } = purge.result()
    joinComponents(mixture, centers, joined, state.unit)
    if (kept.length === k) return { evaluated, renamed }
    const { cols } = points
    const left = new Float32Array(kept.length * cols)
    kept.forEach((component, name) => {
      left.set(centers.subarray(component * cols, (component + 1) * cols), name * cols)
    })
    const total = kept.reduce((sum, component) => sum + mixture.weights[component], 0)
    replaceCenters(state, left)
    state.mixture = {
      weights: Float64Array.from(kept, (component) => mixture.weights[component] / total),
      variances: Float64Array.from(kept, (component) => mixture.variances[component]),
    }
    const labels = await points.readLabels()
    await points.writeLabels(labels.map((label) => heirs[label]))
    return { evaluated, renamed }
  }
}
