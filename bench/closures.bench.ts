/**
 * Cluster closures and their rivals against faiss, scikit-learn and FLANN, in one run with equal threads.
 *
 *   npm run bench -- closures --data vectors.bvecs [--ks 500,2000,10000] [--rounds 20] [--device cpu]
 *                             [--parts active,curves,nmi,flat,trees,coverage,adaptive,leaves,rakm]
 *                             [--truth labels.npy] [--nmi-ks 100,500]
 *
 * The part nmi needs true classes: those of --truth, for the vectors of --data; without it, it takes
 * handwritten digits, and needs no --data.
 */
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { METHODS, openDevice, readIntegers, readVectors } from '../src/index.ts'
import { activeByRatio } from './closures/active.ts'
import { secondsPerRound, treeAgainstAssignment } from './closures/costs.ts'
import { coverage } from './closures/coverage.ts'
import { loadDigits } from './closures/digits.ts'
import { agreementAgainstTime } from './closures/nmi.ts'
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
    parts: { type: 'string', default: 'active,curves,nmi,flat,trees,coverage,adaptive,leaves,rakm' },
    truth: { type: 'string' },
    'nmi-ks': { type: 'string', default: '100,500' },
  },
})
const parts = new Set(flags.parts.split(','))
const onlyDigits = flags.parts === 'nmi' && !flags.truth
if (!flags.data && !onlyDigits) {
  console.error('Which vectors? npm run bench -- closures --data vectors.bvecs')
  process.exit(2)
}
const numbers = (list: string): number[] => list.split(',').map(Number)
const digits = parts.has('nmi') && !flags.truth ? await loadDigits() : undefined
const vectors = flags.data ? await readVectors(flags.data) : digits!.vectors
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const setting: Setting = {
  vectors,
  device,
  threads: availableParallelism(),
  ks: numbers(flags.ks),
  rounds: Number(flags.rounds),
  results: {},
}

if (parts.has('active')) await activeByRatio(setting)
if (parts.has('curves')) await distortionAgainstTime(setting)
if (parts.has('nmi')) await agreementAgainstTime(setting, digits ?? (await labelled()), numbers(flags['nmi-ks']))
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

async function labelled() {
  const { data, rows } = await readIntegers(flags.truth!)
  if (rows !== vectors.rows) throw new Error(`${flags.truth} has ${rows} labels for ${vectors.rows} vectors.`)
  return { name: basename(flags.data!), vectors, truth: data }
}
