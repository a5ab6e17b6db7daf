/**
 * The tables of docs/benchmarks.md, written from bench/results. Each stands between `<!-- table NAME -->` and
 * `<!-- end -->`. `node scripts/benchmark-tables.mjs` writes them anew after a benchmark has run; a test fails where
 * the page and the results differ.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'docs/benchmarks.md')
const results = (name) => JSON.parse(readFileSync(join(root, 'bench/results', `${name}.json`), 'utf8'))

/** Three significant digits, without an exponent. */
const three = (value) => (value >= 1000 ? grouped(value) : String(Number(Number(value).toPrecision(3))))
const grouped = (value) => Math.round(Number(value)).toLocaleString('en')
const fixed = (digits) => (value) => Number(value).toFixed(digits)
const code = (value) => `\`${value}\``
const device = (on) => (/swiftshader/i.test(on) ? 'SwiftShader, a GPU in software' : on)
/** What a benchmark writes where a figure does not apply. */
const orNothing = (value) => (value === '-' ? '' : String(value))

const closuresAt = (k, names) =>
  names.map((name) => results('closures').curves.find((row) => row.k === k && row.method === name))
const closuresTable = (k) => ({
  columns: ['', 'seconds', 'distortion', 'centres per point', 'time to faiss’s result', 'time to within 2.5 % of it'],
  rows: closuresAt(k, [
    'faiss 1.7.3',
    'closures',
    'rakm',
    'akm',
    'hkm',
    'canopy',
    'lloyd',
    'scikit-learn 1.2.1',
    'FLANN k-d trees',
  ]).map((row) => [
    / /.test(row.method) ? row.method : code(row.method),
    three(row.seconds),
    grouped(row.distortion),
    grouped(row['centres looked at']),
    orNothing(row['passes faiss in']),
    orNothing(row['within 2.5 % in']),
  ]),
})
const againstFaiss = (file, data) => ({
  columns: ['k', '', 'seconds', 'distortion', 'against faiss', 'passes faiss after', 'of its time'],
  rows: results(file)[`faiss, ${data}`].table.map((row) => [
    grouped(row.k),
    row.run.replace(/^closures-sharp/, code('closures-sharp')).replace(/before|after/, '$& faiss'),
    three(row.seconds),
    row.distortion,
    orNothing(row['against faiss']),
    orNothing(row['passes faiss in']),
    orNothing(row['of its time']),
  ]),
})

/** Kernels of a round of closures-sharp, by what they are for. */
const STAGES = {
  'growing trees': ['sketch-rows', 'grow-top', 'grow-nodes', 'label-cells'],
  'proposing and applying moves': ['move', 'prepare-moves'],
  'summing, and distances to the own centre': [
    'accumulate',
    'means',
    'tally',
    'sort-by-label',
    'add-exact',
    'exact-to-floats',
  ],
  'relocating, and labels of the start': [
    'halve-groups',
    'measure-halves',
    'assign-lists',
    'assign',
    'assign-leaves',
    'prepare-leaf-centers',
  ],
}

/** By name: the columns of a table, and its rows as text. */
const TABLES = {
  assign: () => ({
    columns: ['', 'on', 'GFLOP/s'],
    rows: results('assign').rows.map(({ name, on, gflops }) => [name, device(on), three(gflops)]),
  }),
  lloyd: () => ({
    columns: ['', 'on', 'final distortion', 'seconds'],
    rows: results('lloyd').results.map(({ name, on, distortion, seconds }) => [
      name,
      device(on),
      fixed(1)(distortion),
      three(seconds),
    ]),
  }),
  'closures-2000': () => closuresTable(2000),
  'closures-10000': () => closuresTable(10_000),
  sharp: () => againstFaiss('sharp', 'vectors'),
  'sharp-words': () => againstFaiss('sharp-words', 'words'),
  'sharp-lloyd': () => ({
    columns: ['', 'rounds', 'seconds', 'distortion', 'against `lloyd`', 'passes it after, rounds', 'of its time'],
    rows: results('sharp').lloyd.rows.map((row) => [
      row.run,
      row.rounds,
      three(row.seconds),
      row.distortion,
      orNothing(row['against lloyd']),
      orNothing(row['passes it in rounds']),
      orNothing(row["of lloyd's"]),
    ]),
  }),
  memory: () => ({
    columns: ['limit, MiB', 'peak memory, MB', 'start, s', 's per round', 'distortion', 'hash of the labels'],
    rows: results('memory').results.map((row) => [
      row.megabytes || 'none',
      grouped(row.peakBytes / 1e6),
      three(row.startSeconds),
      three(row.roundSeconds),
      grouped(row.distortion),
      row.labels,
    ]),
  }),
  'memory-commands': () => ({
    columns: ['command', 'seconds', 'peak memory, MB', 'of the limit'],
    rows: results('memory-commands').results.map(({ command, seconds, peakBytes }) => [
      code(command),
      three(seconds),
      grouped(peakBytes / 1e6),
      fixed(2)(peakBytes / (results('memory-commands').megabytes * 2 ** 20)),
    ]),
  }),
  'large-faiss': () => ({
    columns: [
      'k',
      'rounds of faiss',
      'seconds',
      'processor s',
      'rounds of closures-sharp',
      'seconds',
      'processor s',
      'of its processor time',
    ],
    rows: results('large-faiss').results.flatMap(({ k, faissRounds, faissSeconds, faissProcessorSeconds, runs }) =>
      runs.map(({ rounds, seconds, processorSeconds }) => [
        grouped(k),
        faissRounds,
        three(faissSeconds),
        three(faissProcessorSeconds),
        rounds,
        three(seconds),
        three(processorSeconds),
        `1/${(faissProcessorSeconds / processorSeconds).toFixed(1)}`,
      ]),
    ),
  }),
  'large-many': () => ({
    columns: ['vectors', 'k', 'start, s', 'µs per vector and round', 'peak memory, MB'],
    rows: [results('large-many').result].map((row) => [
      grouped(row.rows),
      grouped(row.k),
      three(row.startSeconds),
      three(row.microseconds),
      grouped(row.memory / 1e6),
    ]),
  }),
  'large-kernels': () => ({
    columns: ['', ...results('large-kernels').results.map(({ rows, k }) => `${grouped(rows)}, k = ${grouped(k)}`)],
    rows: Object.entries({ ...STAGES, 'everything else': [] }).map(([stage, names]) => [
      stage,
      ...results('large-kernels').results.map(({ kernels, processorMicroseconds }) => {
        const sum = (of) => of.reduce((total, name) => total + (kernels[name] ?? 0), 0)
        const known = names.length > 0 ? sum(names) : processorMicroseconds - sum(Object.values(STAGES).flat())
        return fixed(2)(known)
      }),
    ]),
  }),
  'large-searches': () => ({
    columns: [
      'vectors',
      '',
      'rounds',
      'processor µs per vector and round',
      'of closures-sharp',
      'whole run, processor s',
      'of closures-sharp, whole',
      'distortion',
    ],
    rows: results('large-searches').results.map((row) => [
      grouped(row.rows),
      code(row.method),
      row.rounds,
      three(row.microseconds),
      fixed(2)(row.factor),
      three(row.seconds),
      fixed(2)(row.wholeFactor),
      grouped(row.distortion),
    ]),
  }),
  agm: () => ({
    columns: [
      '',
      'clusters',
      'rounds',
      'seconds',
      'vector operations per point',
      'distortion',
      'recall, 1 word',
      '3 words',
    ],
    rows: results('agm')
      .worth.filter(({ method, round }) => round === 10 || (method === 'agm' && [1, 5].includes(round)))
      .map((row) => [
        code(row.method),
        grouped(row.clusters),
        row.round,
        three(row.seconds),
        grouped(row['vector operations a point']),
        grouped(row.distortion),
        fixed(3)(row['recall, 1 word']),
        fixed(3)(row['recall, 3 words']),
      ]),
  }),
  retrieval: () => ({
    columns: ['vocabulary', 'training, s', 'distortion', 'mAP, 1 word', '3 words', 'N-S score'],
    rows: [...results('retrieval').results]
      .sort((a, b) => b['mAP, 1 word'] - a['mAP, 1 word'])
      .map((row) => [
        code(row.method),
        three(row['training s']),
        grouped(row.distortion),
        fixed(3)(row['mAP, 1 word']),
        fixed(3)(row['mAP, 3 words']),
        fixed(2)(row['N-S']),
      ]),
  }),
  recall: () => ({
    columns: [
      'quantizer',
      'distance',
      'seeds',
      'recall@1',
      '@10',
      '@10, worst to best',
      '@100',
      'distortion of the base',
    ],
    rows: results('quantizers-recall').rows.map((row) => [
      row.quantizer,
      row.distance,
      row.runs,
      row['recall@1'],
      row['@10'],
      row.runs > 1 ? row['worst to best @10'] : '',
      row['@100'],
      grouped(row.distortion),
    ]),
  }),
  training: () => ({
    columns: ['faiss', 'seconds', '`ck`, 50 rounds, seconds', '`ck` takes'],
    rows: results('quantizers-training').rows.map((row) => [
      row.trained,
      three(row.seconds),
      three(row['ck, 50 rounds, beside it']),
      row['ck takes'],
    ]),
  }),
  throughput: () => ({
    columns: ['', 'million vectors encoded per second', 'million codes compared per second'],
    rows: results('quantizers-throughput').rows.map((row) =>
      Object.values(row).map((value) => (typeof value === 'number' ? three(value) : value)),
    ),
  }),
  files: () => ({
    columns: ['clusters searched', 're-ranked', 'recall@1', '@10', '@100'],
    rows: results('quantizers-files').rows.map((row) =>
      ['clusters looked into', 're-ranked', 'recall@1', '@10', '@100'].map((column) => row[column]),
    ),
  }),
  search: () => ({
    columns: [
      '',
      'recall@10',
      'queries per second, batch',
      'single p50, ms',
      'p99, ms',
      'build, s',
      'memory, MB',
      'disk, MB',
    ],
    rows: results('search-2').table.map((row) => [
      row.engine,
      row['recall@10'],
      three(row['queries/s, batch']),
      three(row['single p50 ms']),
      three(row['p99 ms']),
      three(row['build s']),
      three(row['memory MB']),
      three(row['disk MB']),
    ]),
  }),
  'search-indexes': () => ({
    columns: ['', 'version', 'index'],
    rows: results('search-2').engines.map(({ name, version, index }) => [
      name,
      version.replace(/^[a-z-]+ (?=\d)/, ''),
      index,
    ]),
  }),
}

function markdown({ columns, rows }) {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The page with every table as the results have it. */
export function withTables(text) {
  return text.replaceAll(/<!-- table ([\w-]+) -->\n[\s\S]*?<!-- end -->/g, (_, name) => {
    const table = TABLES[name]
    if (!table)
      throw new Error(`docs/benchmarks.md has a table "${name}". There are: ${Object.keys(TABLES).join(', ')}.`)
    return `<!-- table ${name} -->\n${markdown(table())}\n<!-- end -->`
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, withTables(readFileSync(page, 'utf8')))
