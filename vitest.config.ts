import { availableParallelism } from 'node:os'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { chromiumLaunchOptions } from './scripts/chromium.mjs'
import { driverVariables } from './test/driver-variables.ts'
import { chooseTestSeed } from './test/test-seed.ts'

/**
 * What runs in Node and in a real Chromium; the rest needs Node. Every kernel runs in Chromium in the form for software
 * adapters (test/kernels/devices.ts). What a method achieves depends neither on the one nor on the other, so tests of that
 * run in Node only; `contract/same-bits` takes every method through Chromium.
 */
const everywhere = [
  'test/kernels/**/*.test.ts',
  'test/clustering/{lloyd,running}.test.ts',
  'test/clustering/contract/same-bits.test.ts',
  'test/trees/**/*.test.ts',
  'test/quantize/**/*.test.ts',
  'test/device/contract.test.ts',
  'test/vectors/device-choice.test.ts',
]

const onlyInNode = [
  // Kernels for hardware, which test/browser/hardware-kernels.test.ts compiles in Chromium.
  'test/kernels/{accumulate-large,assign-bytes,assign-forms,fallback,form-bits,limits,tile-distances}.test.ts',
  // Logic of the host, the same everywhere.
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
