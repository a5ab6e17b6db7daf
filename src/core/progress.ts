/** Telling a caller how far a call is. */

/**
 * Called from time to time with the share that is done, 0 to 1. Calls of several phases, such as {@link cluster}, name the
 * phase, and the share is that of the phase.
 */
export type OnProgress = (share: number, phase?: string) => void
