/**
 * What a user gets who changes no option, against what scikit-learn gives.
 *
 *   npm run bench -- defaults [--parts starts] [--seeds 20] [--restart-seeds 5] [--first-seed 1000]
 *                             [--methods auto,lloyd,closures,closures-sharp] [--only blobs]
 *                             [--data descriptors.bvecs] [--words words.npy] [--rows 20000] [--device cpu]
 *
 * Each part is a section with tables of its own, kept as bench/results/defaults-<part>.json. --restart-seeds 0 leaves
 * out the runs with ten restarts; --only takes the sets whose name contains a text.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { openDevice } from '../src/index.ts'
import type { Section, Setting } from './defaults/setting.ts'
import { measureStarts } from './defaults/starts.ts'
import { keepResults } from './table.ts'

const SECTIONS: Readonly<Record<string, Section>> = { starts: measureStarts }

const { values: flags } = parseArgs({
  options: {
    parts: { type: 'string', default: Object.keys(SECTIONS).join(',') },
    seeds: { type: 'string', default: '20' },
    'restart-seeds': { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1000' },
    methods: { type: 'string', default: 'auto,lloyd,closures,closures-sharp' },
    only: { type: 'string', default: '' },
    data: { type: 'string' },
    words: { type: 'string' },
    rows: { type: 'string', default: '20000' },
    device: { type: 'string', default: 'cpu' },
  },
})
const parts = flags.parts.split(',')
const unknown = parts.filter((part) => !Object.hasOwn(SECTIONS, part))
if (unknown.length > 0) {
  console.error(`No such part: ${unknown.join(', ')}. There are ${Object.keys(SECTIONS).join(', ')}.`)
  process.exit(2)
}
const threads = availableParallelism()
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu', threads })
const setting: Setting = {
  device,
  threads,
  firstSeed: Number(flags['first-seed']),
  seeds: Number(flags.seeds),
  restartSeeds: Number(flags['restart-seeds']),
  methods: flags.methods.split(',') as Setting['methods'],
  only: flags.only,
  data: flags.data,
  words: flags.words,
  rows: Number(flags.rows),
}
try {
  for (const part of parts) {
    const results = await SECTIONS[part](setting)
    keepResults(`defaults-${part}`, { device: device.info.name, threads, ...results })
  }
} finally {
  await device.close()
}
