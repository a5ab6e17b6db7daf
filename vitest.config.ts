import { availableParallelism } from 'node:os'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { chromiumLaunchOptions } from './scripts/chromium.mjs'
import { driverVariables } from './test/driver-variables.ts'
import { chooseTestSeed } from './test/test-seed.ts'

/**
 * The same tests of kernels and methods run in Node and in a real Chromium; the rest needs Node. What a method achieves
 * depends neither on the one nor on the other, so long tests of that run in Node only; `contract/same-bits` takes every
 * method through Chromium.
 */
const everywhere = [
  'test/kernels/**/*.test.ts',
  'test/clustering/**/*.test.ts',
  'test/trees/**/*.test.ts',
  'test/quantize/**/*.test.ts',
  'test/device/contract.test.ts',
  'test/vectors/device-choice.test.ts',
]

const onlyInNode = [
  'test/kernels/fallback.test.ts',
  'test/clustering/akm.test.ts',
  'test/clustering/automatic.test.ts',
  'test/clustering/bisecting.test.ts',
  'test/clustering/canopy.test.ts',
  'test/clustering/closures.test.ts',
  'test/clustering/count.test.ts',
  'test/clustering/extreme-data.test.ts',
  'test/clustering/filled-memory.test.ts',
  'test/clustering/hardware-kernels.test.ts',
  'test/clustering/minibatch.test.ts',
  'test/clustering/mixtures.test.ts',
  'test/clustering/overflow.test.ts',
  'test/clustering/relocation/runs.test.ts',
  'test/clustering/sharp.test.ts',
  'test/clustering/shards.test.ts',
  'test/clustering/short-start.test.ts',
  'test/clustering/sparse-moves.test.ts',
  'test/clustering/sweep*.test.ts',
  'test/clustering/sweep/samples.test.ts',
  'test/clustering/contract/{abort,data,resume,shards,weights}.test.ts',
  // Logic of the host, the same everywhere.
  'test/clustering/{count-search,leaf-order,method-choice,mixture-bic,options,partial,purge}.test.ts',
  'test/clustering/relocation/pairs.test.ts',
  'test/kernels/declared-function.test.ts',
  'test/quantize/{extreme-data,procrustes,training}.test.ts',
]

/** By default long files of few lines come last on a clean checkout, and the other workers wait for them. */
const longest = [
  'fuzz/areas',
  'docs/code-blocks',
  'clustering/mixtures',
  'demos/playground',
  'clustering/contract/shards',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) =>
      longest.some((file) => moduleId.endsWith(`/test/${file}.test.ts`))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

const { seed, origin } = chooseTestSeed()
console.info(`Generated cases: CENTROIDAL_TEST_SEED=${seed} (${origin})`)
const provide = { testSeed: seed }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // By default one core would be left to Vitest itself, which has little to do.
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          name: 'node',
          provide,
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**'],
          pool: 'forks',
          env: driverVariables(),
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        server: {
          // Threads share memory only on cross-origin isolated pages.
          headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
        },
        test: {
          name: 'chromium',
          provide,
          include: [...everywhere, 'test/browser/**/*.test.ts'],
          exclude: onlyInNode,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: await chromiumLaunchOptions() }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
})
