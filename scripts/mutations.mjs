/**
 * Mutation tests: changes one operator of a source file, runs the tests that should notice, and puts the file back. Prints a
 * table of what was noticed (killed) and what was not (survived). Survivors are changes without effect on results, such as
 * those of how work is cut, or gaps in the tests.
 *
 *   node scripts/mutations.mjs                 all of them: hours, less with --only
 *   node scripts/mutations.mjs --list          shows the mutations
 *   node scripts/mutations.mjs --only shaders/ files whose path contains this
 *   node scripts/mutations.mjs --json file     also writes the results
 *
 * Interrupted runs put the file back. Run it on a clean checkout: git diff shows whether anything is left.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { list: { type: 'boolean' }, only: { type: 'string' }, json: { type: 'string' } },
})

/** File, how many mutations, tests that should notice, and which of their cases are run. */
const MUTATED = [
  ['shaders/apply-moves-tiled.ts', 3, ['test/kernels/apply-moves'], 'webgpu in tiles'],
  ['shaders/apply-moves.ts', 2, ['test/kernels/apply-moves'], 'webgpu in blocks'],
  ['shaders/assign-scalar.ts', 2, ['test/kernels/assign.test'], 'scalar'],
  ['shaders/assign-wide-tiles.ts', 2, ['test/kernels/assign.test'], 'wide-tiles'],
  ['shaders/assign-leaves-tiled.ts', 2, ['test/kernels/assign-leaves'], 'webgpu in tiles'],
  ['shaders/distances-tiles.ts', 2, ['test/kernels/distances', 'test/kernels/tile-distances'], 'webgpu'],
  ['shaders/matmul-tiles.ts', 2, ['test/kernels/matmul'], 'tiles'],
  ['shaders/move-gains-tiled.ts', 3, ['test/kernels/move-gains'], 'webgpu in tiles'],
  ['shaders/move-gains.ts', 2, ['test/kernels/move-gains'], 'webgpu in blocks'],
  ['shaders/respond-tiles.ts', 2, ['test/kernels/respond'], 'webgpu with respond'],
  ['shaders/respond.ts', 2, ['test/kernels/respond'], 'webgpu in blocks'],
  ['shaders/moving-clusters.ts', 2, ['test/kernels/moves-sparse', 'test/kernels/apply-moves'], 'webgpu in blocks'],
  ['shaders/prices.ts', 2, ['test/kernels/move-gains', 'test/kernels/apply-moves'], 'webgpu in blocks'],
  ['shaders/sort-tiled.ts', 2, ['test/kernels/accumulate.test'], 'webgpu in tiles'],
  ['shaders/search-tree.ts', 2, ['test/kernels/search-tree'], 'webgpu'],
  ['wasm/apply-moves.ts', 2, ['test/kernels/apply-moves'], 'cpu'],
  ['wasm/assign.ts', 2, ['test/kernels/assign.test'], 'cpu'],
  ['wasm/assign-quantized.ts', 2, ['test/kernels/assign.test'], 'cpu'],
  ['wasm/distances.ts', 1, ['test/kernels/distances'], 'cpu'],
  ['wasm/matmul.ts', 2, ['test/kernels/matmul'], 'cpu'],
  ['wasm/move-gains.ts', 1, ['test/kernels/moves-sparse'], 'cpu'],
  ['wasm/move-gains-quantized.ts', 2, ['test/kernels/move-gains'], 'cpu'],
  ['wasm/moving-clusters.ts', 2, ['test/kernels/apply-moves', 'test/kernels/moves-sparse'], 'cpu'],
  ['wasm/prices.ts', 2, ['test/kernels/move-gains', 'test/kernels/apply-moves'], 'cpu'],
  ['wasm/respond.ts', 2, ['test/kernels/respond'], 'cpu'],
  ['src/clustering/mixture/count-search.ts', 2, ['test/clustering/count-search', 'test/clustering/mixtures'], ''],
  ['src/clustering/mixture/purge.ts', 2, ['test/clustering/purge', 'test/clustering/mixtures'], ''],
  ['src/clustering/updates/mixture.ts', 3, ['test/clustering/mixtures', 'test/clustering/gmm-golden'], ''],
  ['src/clustering/updates/mean.ts', 2, ['test/clustering/lloyd', 'test/clustering/running'], ''],
  ['src/clustering/updates/move.ts', 3, ['test/clustering/sharp', 'test/clustering/contract/shards'], ''],
  ['src/clustering/updates/step.ts', 2, ['test/clustering/minibatch'], ''],
  ['src/clustering/sweep/samples.ts', 2, ['test/clustering/sweep'], ''],
  ['src/core/rounds.ts', 3, ['test/clustering/running', 'test/clustering/lloyd', 'test/quantize/training'], ''],
  ['src/data/csv.ts', 3, ['test/data/csv', 'test/data/read-write', 'test/data/damaged-files'], ''],
  ['src/data/npy.ts', 3, ['test/data/npy', 'test/data/damaged-files'], ''],
  ['src/data/zip.ts', 2, ['test/data/zip', 'test/data/npz'], ''],
  ['src/device/webgpu/usable-target.ts', 2, ['test/kernels/fallback'], ''],
]

/** Operators and what they become. Spaces tell them from types and signs. */
const OPERATORS = [
  [' < ', ' <= '],
  [' <= ', ' < '],
  [' > ', ' >= '],
  [' >= ', ' > '],
  [' + ', ' - '],
  [' - ', ' + '],
  [' * ', ' + '],
  [' && ', ' || '],
  [' || ', ' && '],
  [' === ', ' !== '],
  [' == ', ' != '],
  [' != ', ' == '],
  [' += ', ' -= '],
  ['min(', 'max('],
  ['max(', 'min('],
]

/** Places of operators in lines of code. */
function sitesOf(text) {
  const sites = []
  let start = 0
  let inComment = false
  for (const line of text.split('\n')) {
    const plain = line.trim()
    if (plain.startsWith('/*')) inComment = true
    const skipped = inComment || /^(\/\/|\*|import |export type |type |interface )|@assert|throw |Error\(/.test(plain)
    if (plain.includes('*/')) inComment = false
    const code = line.replace(/\/\/.*$/, '')
    if (!skipped) {
      for (const [from, to] of OPERATORS) {
        for (let at = code.indexOf(from); at >= 0; at = code.indexOf(from, at + 1))
          sites.push({ at: start + at, from, to })
      }
    }
    start += line.length + 1
  }
  return sites.sort((a, b) => a.at - b.at)
}

/** Spread evenly over the file. */
function mutationsOf([file, count, tests, cases]) {
  const text = readFileSync(root + file, 'utf8')
  const sites = sitesOf(text)
  return Array.from({ length: Math.min(count, sites.length) }, (_, i) => {
    const { at, from, to } = sites[Math.floor(((i + 0.5) * sites.length) / Math.min(count, sites.length))]
    const line = text.slice(0, at).split('\n').length
    const shown = text.split('\n')[line - 1].trim().slice(0, 60)
    return {
      file,
      line,
      from,
      to,
      shown,
      tests,
      cases,
      text,
      mutant: text.slice(0, at) + to + text.slice(at + from.length),
    }
  })
}

function node(args, seconds) {
  return spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  })
}

function isKilled({ file, tests, cases }) {
  if (file.startsWith('wasm/') && node(['scripts/build-wasm.mjs'], 300).status !== 0) return true
  const chosen = cases === '' ? [] : ['-t', cases]
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'node*', '--bail', '1', ...tests, ...chosen]
  return node(vitest, 600).status !== 0
}

const all = MUTATED.flatMap(mutationsOf).filter(({ file }) => file.includes(values.only ?? ''))
const results = []
let changed
const putBack = () => {
  if (changed) writeFileSync(root + changed.file, changed.text)
  if (changed?.file.startsWith('wasm/')) node(['scripts/build-wasm.mjs'], 300)
  changed = undefined
}
process.on('SIGINT', () => {
  putBack()
  process.exit(130)
})

console.log('| file | line | change | in | result | seconds |\n|---|---|---|---|---|---|')
for (const mutation of all) {
  const { file, line, from, to, shown } = mutation
  const began = performance.now()
  let result = ''
  if (!values.list) {
    changed = mutation
    writeFileSync(root + file, mutation.mutant)
    try {
      result = isKilled(mutation) ? 'killed' : 'survived'
    } finally {
      putBack()
    }
  }
  const seconds = Math.round((performance.now() - began) / 1000)
  results.push({ file, line, from, to, shown, result, seconds })
  console.log(
    `| ${file} | ${line} | \`${from.trim()}\` to \`${to.trim()}\` | \`${shown.replaceAll('|', '\\|')}\` | ${result} | ${seconds} |`,
  )
}
if (!values.list) {
  console.log(`\n${results.filter(({ result }) => result === 'killed').length} of ${results.length} killed.`)
  if (values.json) writeFileSync(values.json, JSON.stringify(results, null, 2))
}
