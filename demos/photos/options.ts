/** Options for the library, shared by the worker, the code that the page shows, and the tests. */
export const TOP = 12
export const ROUNDS = 20

export function photoOptions(k: number, seed: number) {
  return { k, seed, method: 'closures-sharp', iterations: ROUNDS } as const
}
