/**
 * Cluster closures and their rivals against faiss, scikit-learn and FLANN, in one run with equal threads.
 *
 *   npm run bench -- closures --data vectors.bvecs [--ks 500,2000,10000] [--rounds 20] [--device cpu]
 *                             [--parts curves,flat,trees,coverage,adaptive,leaves,rakm]
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { METHODS, openDevice, readVectors } from '../src/index.ts'
import { secondsPerRound, treeAgainstAssignment } from './closures/costs.ts'
import { coverage } from './closures/coverage.ts'
import { distortionAgainstTime } from './closures/rivals.ts'
import type { Setting } from './closures/setting.ts'
import { adaptiveAgainstStatic, improvements, leafSizes } from './closures/variants.ts'
import { PEERS_HINT } from './peers.ts'
import { keepResults } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    ks: { type: 'string', default: '500,2000,10000' },
    rounds: { type: 'string', default: '20' },
    device: { type: 'string', default: 'cpu' },
    parts: { type: 'string', default: 'curves,flat,trees,coverage,adaptive,leaves,rakm' },
  },
})
const parts = new Set(flags.parts.split(','))
if (!flags.data) {
  console.error('Which vectors? npm run bench -- closures --data vectors.bvecs')
  process.exit(2)
}
const numbers = (list: string): number[] => list.split(',').map(Number)
const vectors = await readVectors(flags.data)
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const setting: Setting = {
  vectors,
  device,
  threads: availableParallelism(),
  ks: numbers(flags.ks),
  rounds: Number(flags.rounds),
  results: {},
}

if (parts.has('curves')) await distortionAgainstTime(setting)
if (parts.has('flat')) await secondsPerRound(setting)
if (parts.has('trees')) await treeAgainstAssignment(setting)
if (parts.has('coverage')) await coverage(setting)
if (parts.has('adaptive')) await adaptiveAgainstStatic(setting)
if (parts.has('leaves')) await leafSizes(setting)
if (parts.has('rakm') && 'rakm' in METHODS) await improvements(setting)
await device.close()
console.log(`\n${PEERS_HINT}`)
keepResults('closures', {
  data: { rows: vectors.rows, cols: vectors.cols },
  device: device.info.name,
  threads: setting.threads,
  ...setting.results,
})
