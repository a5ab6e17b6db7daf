/** Sizes and seeds of the explanations. */
export const CLOSURE_SETTING = { n: 4000, k: 60, trees: 3, leafSize: 10, seed: 3 } as const
export const MOVE_SETTING = { n: 90, k: 14, seed: 5 } as const
export const GRID_SETTING = { n: 600, m: 2, codewords: 5, seed: 2 } as const
/** Rounds of Cartesian k-means after which the grid is shown; 0 is product quantization. */
export const GRID_ROUNDS = [0, 1, 2, 4, 8, 16, 20, 22, 24, 32] as const
