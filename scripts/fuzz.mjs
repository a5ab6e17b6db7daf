/**
 * Fuzzing: npm run fuzz -- [options]; --help lists them. Generated cases use the built library by its public door, and
 * the built command line, in processes of their own.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
if (!existsSync(`${root}/dist/cli.js`)) {
  console.error('dist/ is missing: run node scripts/build.mjs --no-types first.')
  process.exit(2)
}
await build({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
  entryPoints: ['fuzz/main.ts', 'fuzz/child.ts', 'fuzz/crash-preload.ts'],
  outdir: `${root}/dist/fuzz`,
  plugins: [
    {
      name: 'public-door',
      setup: (setup) =>
        setup.onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: '../index.js', external: true })),
    },
  ],
})
await import(pathToFileURL(`${root}/dist/fuzz/main.js`).href)
