/** What the library is asked for; the same in the worker, in the code that the page shows and in tests. */
export const TOP = 12
export const ROUNDS = 20

export function photoOptions(k: number, seed: number) {
  return { k, seed, method: 'closures-sharp', iterations: ROUNDS } as const
}
