/**
 * Builds dist/: the library for Node and for pages, the command line, the terminal demos, the types.
 * Types are skipped with --no-types, which is all that tests and demos need.
 */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = (file, args) => execFileSync(process.execPath, [file, ...args], { cwd: root, stdio: 'inherit' })

await rm(join(root, 'dist'), { recursive: true, force: true })
run('scripts/build-wasm.mjs', [])

const common = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  sourcemap: false,
  logLevel: 'warning',
}
const node = { ...common, platform: 'node', packages: 'external' }
// The command line and the demos use the library as everybody does: by its door.
const door = {
  name: 'public-door',
  setup(setup) {
    setup.onResolve({ filter: /(^|\/)index\.ts$/ }, ({ kind, importer }) =>
      kind === 'entry-point'
        ? undefined
        : { path: importer.includes('/demos/') ? '../index.js' : './index.js', external: true },
    )
  },
}

await Promise.all([
  build({
    ...common,
    platform: 'node',
    packages: 'bundle',
    external: ['webgpu', '@sparticuz/chromium', 'fflate', 'ml-matrix'],
    entryPoints: ['src/index.ts'],
    outfile: 'dist/index.js',
  }),
  build({
    ...common,
    platform: 'browser',
    conditions: ['browser'],
    entryPoints: ['src/index.ts'],
    outfile: 'dist/browser.js',
    minify: true,
  }),
  build({
    ...node,
    plugins: [door],
    entryPoints: ['src/cli/main.ts'],
    outfile: 'dist/cli.js',
    banner: { js: '#!/usr/bin/env node' },
  }),
  build({ ...node, plugins: [door], entryPoints: ['demos/digits.ts'], outfile: 'dist/demos/digits.js' }),
])
if (!process.argv.includes('--no-types')) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  run(tsc, ['-p', 'tsconfig.types.json'])
}
