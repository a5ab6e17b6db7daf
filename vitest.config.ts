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

/**
 * Kernels for hardware, which test/browser/hardware-kernels.test.ts compiles in Chromium. `npm run test:forms` runs them there
 * too, on every device of test/kernels/devices.ts; that takes longer than all other tests together.
 */
const formsForHardware = [
  'test/kernels/{accumulate-large,assign-bytes,assign-forms,fallback,form-bits,limits,tile-distances}.test.ts',
]

/** Logic of the host, the same everywhere. */
const onlyOnHost = [
  'test/kernels/declared-function.test.ts',
  'test/quantize/{extreme-data,procrustes,training}.test.ts',
]

/** By default long files of few lines come last on a clean checkout, and the other workers wait for them. */
const longest = [
  'distributed/engine',
  'demos/playground',
  'demos/race',
  'demos/front',
  'kernels/apply-moves',
  'kernels/assign',
  'kernels/fallback',
  'kernels/respond',
  'clustering/mixtures',
  'clustering/hardware-kernels',
  'kernels/move-gains',
  'docs/code-blocks',
  'fuzz/areas',
  'kernels/matmul',
  'kernels/tile-distances',
  'kernels/distances',
  'clustering/contract/shards',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((file) => moduleId.endsWith(`/test/${file}.test.ts`))
      return at < 0 ? longest.length : at
    }
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}

const { seed, origin } = chooseTestSeed()
console.info(`Generated cases: CENTROIDAL_TEST_SEED=${seed} (${origin})`)

/**
 * Files that change nothing outside of themselves share their modules, so that these are loaded once a worker: loading them for
 * each file would take longer than the tests.
 */
const sharingModules = [
  'test/{arguments,cli,clustering,core,data,device,docs,fuzz,kernels,math,metrics,models,platform}/**/*.test.ts',
  'test/{quantize,retrieval,scripts,search,trees,vectors}/**/*.test.ts',
]

/** `npm run test:quick`: host logic, and kernels and methods on the CPU device. */
const quickSharing = [
  'test/{core,data,kernels,math,metrics,trees,vectors}/**/*.test.ts',
  'test/clustering/{count-search,leaf-order,lloyd,method-choice,mixture-bic,options,partial,purge}.test.ts',
  'test/clustering/contract/weights.test.ts',
]
const quickAlone = ['test/device/{forms,heap,pacer,plan,pool}.test.ts', 'test/structure/rooms.test.ts']

/** Pages of the built site, which is built once for all of them. */
const ofDemos = ['test/demos/**/*.test.ts']

/** Kernels on WebGPU alone, and what takes long. */
const notQuickly = [
  'test/data/folder-*.test.ts',
  'test/kernels/{accumulate-large,assign-bytes,fallback,form-bits,limits,row-heaps,scan,tile-distances}.test.ts',
  'test/vectors/{device-choice,tuning}.test.ts',
]

const inNode = {
  pool: 'forks',
  env: driverVariables(),
  testTimeout: 180_000,
  hookTimeout: 180_000,
} as const

export default defineConfig(async ({ mode }) => {
  const quick = mode === 'quick'
  const provide = { testSeed: seed, quick, everyForm: mode === 'forms' }
  return {
    test: {
      sequence: { sequencer: LongestFirst },
      // One more than there are cores: some tests wait for other processes most of their time.
      maxWorkers: availableParallelism() + 1,
      projects: [
        {
          test: {
            ...inNode,
            name: 'node',
            provide,
            include: quick ? quickAlone : ['test/**/*.test.ts'],
            exclude: quick ? [] : ['test/browser/**', ...ofDemos, ...sharingModules],
          },
        },
        {
          test: {
            ...inNode,
            name: 'node-shared',
            isolate: false,
            provide,
            include: quick ? quickSharing : sharingModules,
            exclude: quick ? notQuickly : [],
          },
        },
        ...(quick ? [] : [demos(provide), await inChromium(provide)]),
      ],
    },
  }
})

interface Provided {
  readonly testSeed: number
  readonly quick: boolean
  readonly everyForm: boolean
}

function demos(provide: Provided) {
  return {
    test: {
      ...inNode,
      name: 'demos',
      provide,
      include: ofDemos,
      globalSetup: 'test/demos/build-site.ts',
      // Pages share the machine with other tests.
      expect: { poll: { timeout: 30_000 } },
    },
  }
}

async function inChromium(provide: Provided) {
  return {
    server: {
      // Threads share memory only on cross-origin isolated pages.
      headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
    },
    test: {
      name: 'chromium',
      provide,
      include: [...everywhere, 'test/browser/**/*.test.ts'],
      exclude: provide.everyForm ? onlyOnHost : [...formsForHardware, ...onlyOnHost],
      testTimeout: 240_000,
      hookTimeout: 240_000,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({ launchOptions: await chromiumLaunchOptions() }),
        instances: [{ browser: 'chromium' as const }],
      },
    },
  }
}
