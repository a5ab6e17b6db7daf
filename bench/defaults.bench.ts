/**
 * What a user gets who changes no option, against what scikit-learn gives.
 *
 *   npm run bench -- defaults [--parts starts,restarts,count,bic,cost,sweep] [--first-seed 1000] [--only blobs] [--device cpu]
 *                             [--data descriptors.bvecs] [--words words.npy]
 *     starts                  [--seeds 20] [--methods auto,lloyd,closures,closures-sharp] [--rows 20000]
 *     restarts                [--restart-seeds 5], and the options of starts
 *     count                   [--cases 100]
 *     bic                     [--ks 10,20,50,100,200,500,1000] [--bic-rows 20000] [--peer-seconds 300]
 *     cost                    [--cost-rows 0] [--before ../older]
 *
 * Each part is a section with tables of its own, kept as bench/results/defaults-<part>.json, with --device webgpu as
 * defaults-<part>-webgpu.json:
 * - starts: how good the clusters are that methods end with, against KMeans.
 * - restarts: the same with ten restarts each.
 * - count: whether agm and egm find the number of modes of separated mixtures.
 * - bic: the BIC of the mixtures that agm and egm find on real vectors, against gmm and GaussianMixture over k.
 * - cost: time and memory of agm against rakm, on all rows of --data; left out without --data; with the figures of
 *   an older build beside them (--before; see defaults/cost.ts).
 * - sweep: time of a sweep against its largest clustering, and its distortions against clusterings of their own; on
 *   --data, or else on made blobs and digits.
 *
 * Runs take seeds from --first-seed on. --only takes the sets of starts, restarts, bic and sweep whose name contains a
 * text: blobs, digits, descriptors (--data), words (--words). --cases is the number of mixtures; fewer will do with
 * --device webgpu where that is slow. --bic-rows is how many rows of a file bic takes at random, 0 for all; scikit-learn
 * stops before a k that would take it longer than --peer-seconds.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { openDevice } from '../src/index.ts'
import { measureCriterion } from './defaults/bic.ts'
import { measureCost } from './defaults/cost.ts'
import { measureCount } from './defaults/count.ts'
import type { Section, Setting } from './defaults/setting.ts'
import { measureRestarts, measureStarts } from './defaults/starts.ts'
import { measureSweep } from './defaults/sweep.ts'
import { keepResults } from './table.ts'

const SECTIONS: Readonly<Record<string, Section>> = {
  starts: measureStarts,
  restarts: measureRestarts,
  count: measureCount,
  bic: measureCriterion,
  cost: measureCost,
  sweep: measureSweep,
}

const { values: flags } = parseArgs({
  options: {
    parts: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    'restart-seeds': { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1000' },
    methods: { type: 'string', default: 'auto,lloyd,closures,closures-sharp' },
    only: { type: 'string', default: '' },
    data: { type: 'string' },
    words: { type: 'string' },
    rows: { type: 'string', default: '20000' },
    cases: { type: 'string', default: '100' },
    ks: { type: 'string', default: '10,20,50,100,200,500,1000' },
    'bic-rows': { type: 'string', default: '20000' },
    'peer-seconds': { type: 'string', default: '300' },
    'cost-rows': { type: 'string', default: '0' },
    before: { type: 'string' },
    device: { type: 'string', default: 'cpu' },
  },
})
const possible = Object.keys(SECTIONS).filter((part) => part !== 'cost' || flags.data !== undefined)
const parts = flags.parts?.split(',') ?? possible
const unknown = parts.filter((part) => !Object.hasOwn(SECTIONS, part))
if (unknown.length > 0) {
  console.error(`No such part: ${unknown.join(', ')}. There are ${Object.keys(SECTIONS).join(', ')}.`)
  process.exit(2)
}
if (parts.some((part) => !possible.includes(part))) {
  console.error('The part cost needs vectors: npm run bench -- defaults --parts cost --data descriptors.bvecs')
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
  cases: Number(flags.cases),
  bicRows: Number(flags['bic-rows']),
  ks: flags.ks.split(',').map(Number),
  peerSeconds: Number(flags['peer-seconds']),
  costRows: Number(flags['cost-rows']),
  before: flags.before,
}
try {
  for (const part of parts) {
    const results = await SECTIONS[part](setting)
    const { kind, name } = device.info
    const suffix = kind === 'webgpu' ? '-webgpu' : ''
    keepResults(`defaults-${part}${suffix}`, { device: name, threads, ...results })
  }
} finally {
  await device.close()
}
