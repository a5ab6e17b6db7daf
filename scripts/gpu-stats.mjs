/**
 * The GPU compiler's view of every kernel: npm run gpu:stats -- [options]; --help lists them. Kernels are compiled by
 * Mesa's driver for AMD GPUs, which needs no GPU; see docs/gpu.md.
 */
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
await build({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
  entryPoints: ['scripts/gpu-stats/main.ts', 'scripts/gpu-stats/compile-child.ts'],
  outdir: `${root}/dist/gpu-stats`,
})
const { main } = await import(pathToFileURL(`${root}/dist/gpu-stats/main.js`).href)
process.exitCode = await main(process.argv.slice(2))
