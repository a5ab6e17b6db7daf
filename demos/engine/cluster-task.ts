/** Clustering, with a look at the labels and centres after every round where the page draws them. */
import {
  type ClusterOptions,
  clusterSteps,
  type IterationStats,
  type Matrix,
  type ModelFacts,
} from '../../src/index.ts'
import type { TaskContext } from './task.ts'

export interface ClusterInput {
  readonly vectors: Matrix
  /** Plain values only: the rest is the worker's. */
  readonly options: Omit<ClusterOptions, 'device' | 'signal' | 'onIteration' | 'onProgress' | 'checkpoint' | 'resume'>
  /** Read labels, centres and widths after every round. Costs time, so a race does not look. */
  readonly look: boolean
}

export interface ClusterRound {
  readonly stats: IterationStats
  /** Time of this round alone, waiting and looking left out. The first one includes choosing the start. */
  readonly milliseconds: number
  readonly look: ClusterLook | undefined
}

export interface ClusterLook {
  readonly centers: Float32Array
  readonly labels: Uint32Array
  /** Standard deviations, where the clusters are Gaussians. */
  readonly sigmas: Float32Array | undefined
}

export interface ClusterResult {
  readonly centers: Matrix
  readonly labels: Uint32Array
  readonly sigmas: Float32Array | undefined
  readonly weights: Float32Array | undefined
  readonly distortion: number
  readonly facts: ModelFacts
}

export async function* clusterTask(
  { vectors, options, look }: ClusterInput,
  { device, signal, progress }: TaskContext,
): AsyncGenerator<ClusterRound, ClusterResult> {
  const onProgress = (share: number, phase = ''): void => progress(phase, share)
  const steps = clusterSteps(vectors, { ...options, device, signal, onProgress })
  try {
    for (;;) {
      const began = performance.now()
      const next = await steps.next()
      const milliseconds = performance.now() - began
      if (next.done) {
        const { centers, labels, sigmas, weights, distortion, facts } = next.value
        return { centers, labels, sigmas, weights, distortion, facts }
      }
      const { centers, labels, sigmas, ...stats } = next.value
      const seen = look
        ? { centers: (await centers()).data as Float32Array, labels: await labels(), sigmas: sigmas() }
        : undefined
      yield { stats, milliseconds, look: seen }
    }
  } finally {
    // Leaving early frees what the run holds on the device.
    await steps.return(undefined as never)
  }
}
