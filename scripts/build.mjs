/**
 * Builds dist/: the library for Node and for pages, the command line, the terminal demos, the types.
 * The command line has its packages inside, so that whoever uses only the library does not install them.
 * Types are skipped with --no-types, which is all that tests and demos need.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
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
const library = {
  ...common,
  platform: 'node',
  packages: 'bundle',
  external: ['webgpu', '@sparticuz/chromium', 'fflate', 'ml-matrix'],
  entryPoints: ['src/index.ts'],
}
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
  build({ ...library, outfile: 'dist/index.js' }),
  build({
    ...common,
    platform: 'browser',
    conditions: ['browser'],
    entryPoints: ['src/index.ts'],
    outfile: 'dist/browser.js',
    minify: true,
  }),
  // For require() in Nodes that cannot require modules, before 20.19 and 22.12.
  build({
    ...library,
    format: 'cjs',
    outfile: 'dist/index.cjs',
    banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href" },
    define: { 'import.meta.url': 'importMetaUrl' },
  }),
  build({
    ...common,
    platform: 'node',
    minify: true,
    // Names of functions are in no message, but stacks are easier to read with them.
    keepNames: true,
    metafile: true,
    plugins: [door],
    entryPoints: ['src/cli/main.ts'],
    outfile: 'dist/cli.js',
    // Packages in the older module format ask for modules of Node by require.
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  }).then(({ metafile }) => writeFile(join(root, 'dist/THIRD-PARTY.txt'), notices(metafile))),
  build({ ...node, plugins: [door], entryPoints: ['demos/digits.ts'], outfile: 'dist/demos/digits.js' }),
])
if (!process.argv.includes('--no-types')) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  run(tsc, ['-p', 'tsconfig.types.json'])
}

/** The licences of the packages that are inside the command line. */
function notices({ inputs }) {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  )
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^(licen[cs]e|copying)/i.test(entry))
    const text =
      file === undefined || !existsSync(join(root, folder, file)) ? '' : readFileSync(join(root, folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
  return `dist/cli.js contains these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}
