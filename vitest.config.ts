import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { chromiumLaunchOptions } from './scripts/chromium.mjs'

/** The same kernel and clustering tests run in Node and in a real Chromium; the rest needs Node. */
const everywhere = [
  'test/kernels/**/*.test.ts',
  'test/clustering/**/*.test.ts',
  'test/trees/**/*.test.ts',
  'test/quantize/**/*.test.ts',
  'test/device/contract.test.ts',
]

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        server: {
          // Threads share memory only on cross-origin isolated pages.
          headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
        },
        test: {
          name: 'chromium',
          include: [...everywhere, 'test/browser/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
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
