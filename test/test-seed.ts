/**
 * The seed of generated cases: property tests, damaged files, extreme data, fuzzing. One seed serves a whole run of the
 * tests. It is printed when the run starts, and CENTROIDAL_TEST_SEED repeats it.
 */
import { execFileSync } from 'node:child_process'

type Env = Readonly<Record<string, string | undefined>>

export interface TestSeed {
  readonly seed: number
  /** Where it comes from, for the line that is printed. */
  readonly origin: 'CENTROIDAL_TEST_SEED' | 'fixed' | 'random'
}

/** For runs that decide whether a commit is accepted: they must give the same answer for the same sources. */
export const FIXED_SEED = 20_240_229

/**
 * While someone works on the sources, every run explores other cases. In continuous integration (CI is set), on a clean
 * checkout and outside of git the seed is fixed. CENTROIDAL_TEST_SEED overrides both: a number, or `random`.
 */
export function chooseTestSeed(env: Env = process.env, edited: () => boolean = hasEdits): TestSeed {
  const wanted = env.CENTROIDAL_TEST_SEED
  const random = { seed: Math.floor(Math.random() * 2 ** 31), origin: 'random' } as const
  if (wanted === 'random') return random
  if (wanted) {
    const seed = Number(wanted)
    if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31) {
      throw new Error(`CENTROIDAL_TEST_SEED is ${wanted}: give a whole number from 0 to 2147483647, or random.`)
    }
    return { seed, origin: 'CENTROIDAL_TEST_SEED' }
  }
  return isSet(env.CI) || !edited() ? { seed: FIXED_SEED, origin: 'fixed' } : random
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

function hasEdits(): boolean {
  try {
    const status = execFileSync('git', ['status', '--porcelain'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return status.trim() !== ''
  } catch {
    return false
  }
}
