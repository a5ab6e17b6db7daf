/** fast-check with the seed of this run (test-seed.ts). Property tests import it from here. Runs in Node and in pages. */
import fc from 'fast-check'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    readonly testSeed: number
    /** The tests of `npm run test:quick`. */
    readonly quick: boolean
    /** The tests of `npm run test:forms`. */
    readonly everyForm: boolean
  }
}

export const testSeed: number = inject('testSeed')

fc.configureGlobal({ seed: testSeed })

export { fc }
