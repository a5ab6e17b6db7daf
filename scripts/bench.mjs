/**
 * Runs a benchmark: npm run bench -- <name> [options]. Benchmarks use the library by its public door,
 * print a table, and write the same as JSON to bench/results/.
 */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const [name, ...rest] = process.argv.slice(2)
const names = readdirSync(`${root}/bench`)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''))
if (!name || !existsSync(`${root}/bench/${name}.bench.ts`)) {
  console.error(`Which benchmark? npm run bench -- ${names.join(' | ')}`)
  process.exit(2)
}
const outfile = `${root}/dist/bench/${name}.js`
await build({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
  entryPoints: [`bench/${name}.bench.ts`],
  outfile,
  plugins: [
    {
      name: 'public-door',
      setup: (setup) =>
        setup.onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: '../index.js', external: true })),
    },
  ],
})
process.argv = [process.argv[0], outfile, ...rest]
await import(pathToFileURL(outfile).href)
