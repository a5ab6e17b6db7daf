/** Statistics of a round of training. */
export interface QuantizerStats {
  /** Number of the round, from 1. */
  readonly iteration: number
  /** Mean squared distance of a vector to its decoded codes, after the round. Never rises by more than rounding. */
  readonly distortion: number
  /** Since the start. */
  readonly seconds: number
  /** Of this round, spent on finding the rotation. */
  readonly rotationSeconds: number
}

/** Why a training ended: its rounds were used up, a round gained too little, or a signal stopped it. */
export type QuantizerStop = 'iterations' | 'tolerance' | 'aborted'
