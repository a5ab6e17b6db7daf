/** What a round of training reports. */
export interface QuantizerStats {
  /** Rounds done, from 1. */
  readonly iteration: number
  /** Mean squared distance of a vector to what its codes stand for, after the round. Never rises by more than rounding. */
  readonly distortion: number
  /** Since the start. */
  readonly seconds: number
  /** Of this round, spent on finding the rotation. */
  readonly rotationSeconds: number
}

/** Why a training ended: its rounds were used up, a round gained too little, or a signal stopped it. */
export type QuantizerStop = 'iterations' | 'tolerance' | 'aborted'
