/** A fresh seed, printed so that CENTROIDAL_FUZZ_SEED can repeat the run. */
export function fuzzSeed(name: string): number {
  const seed = Number(process.env.CENTROIDAL_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.info(`${name}: CENTROIDAL_FUZZ_SEED=${seed}`)
  return seed
}
