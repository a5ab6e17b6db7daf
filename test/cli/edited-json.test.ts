/** model.json and run.json that were edited: a report is whole, or refused with one sentence. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { ShapeError } from '../../src/cli/json-shape.ts'
import { clusterPage } from '../../src/cli/report/cluster-page.ts'
import { type ClusterRun, clusterRun, loadRun } from '../../src/cli/run-folder.ts'
import { clusteringFacts, quantizerFacts, runNotes } from '../../src/cli/run-schema.ts'
import { loadModel } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { type Mutation, mutationsOf, WRONG_VALUES } from './json-mutations.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()
const WRONG_TEXT = /NaN|undefined|Infinity|\[object|<script|>null</

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('plane.npy'), 60, 2)
  const cluster = ['cluster', path('vectors.npy'), '-k', '5', '--truth', path('classes.npy'), '--image', '4x2', '-q']
  await runInside(...cluster, '--out', path('run'))
  await runInside('cluster', path('plane.npy'), '-k', '3', '--method', 'gmm', '--out', path('mixture'), '-q')
  const quantize = ['quantize', path('vectors.npy'), '-m', '2', '--codewords', '4', '--iterations', '2', '-q']
  await runInside(...quantize, '--out', path('quantizer'))
})

const jsonOf = async (file: string): Promise<Record<string, unknown>> => JSON.parse(await readFile(path(file), 'utf8'))

/** Each value missing, and replaced by one wrong value: another one for the next, so that all of them come up. */
function* someMutations(value: unknown): Generator<Mutation> {
  let turn = 0
  for (const { name, json } of mutationsOf(value, [], 1)) {
    yield { name, json }
    const place = name.replace(/ missing$/, '')
    const wrong = [WRONG_VALUES[turn++ % WRONG_VALUES.length]]
    for (const mutation of mutationsOf(value, wrong, 1)) if (mutation.name.startsWith(`${place} = `)) yield mutation
  }
}

/** Undefined if the shape refuses it, in words that fit one line. */
function accepted<T>(shape: (value: unknown, at: string) => T, { name, json }: Mutation): T | undefined {
  try {
    return shape(JSON.parse(json), '')
  } catch (error) {
    expect(error, name).toBeInstanceOf(ShapeError)
    expect((error as Error).message, name).toMatch(/^.{1,200}$/)
    return undefined
  }
}

async function expectWhole(name: string, run: ClusterRun): Promise<void> {
  expect(WRONG_TEXT.exec(await clusterPage('Edited', run))?.[0], name).toBeUndefined()
}

describe.each(['run', 'mixture'])('a clustering: %s', (folder) => {
  test('model.json', async () => {
    const run = clusterRun(path(folder), await loadModel(path(folder)), {})
    const unchanged = clusteringFacts(await jsonOf(`${folder}/model.json`), '')
    let refused = 0
    for (const mutation of someMutations(await jsonOf(`${folder}/model.json`))) {
      const facts = accepted(clusteringFacts, mutation)
      if (facts === undefined) refused++
      // Fields that a report does not read are dropped: then nothing has changed.
      else if (JSON.stringify(facts) !== JSON.stringify(unchanged)) {
        await expectWhole(mutation.name, { ...run, facts })
      }
    }
    expect(refused).toBeGreaterThan(30)
  })

  test('run.json', async () => {
    const loaded = (await loadRun(path(folder))) as ClusterRun
    const shape = runNotes({ ...loaded.facts, sizes: loaded.sizes })
    let refused = 0
    for (const mutation of someMutations(await jsonOf(`${folder}/run.json`))) {
      const notes = accepted(shape, mutation)
      if (notes === undefined) refused++
      else if (JSON.stringify(notes) !== JSON.stringify(loaded.notes)) {
        await expectWhole(mutation.name, { ...loaded, notes })
      }
    }
    expect(refused).toBeGreaterThan(10)
  })
})

test('model.json of a quantizer', async () => {
  let refused = 0
  for (const mutation of someMutations(await jsonOf('quantizer/model.json'))) {
    if (accepted(quantizerFacts, mutation) === undefined) refused++
  }
  expect(refused).toBeGreaterThan(15)
})

describe('the command', () => {
  /** The sentence. */
  async function refusal(folder: string): Promise<string> {
    const { code, stdout, stderr } = await runInside('report', folder, '--out', path('never.html'))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^.{1,500}\n$/)
    return stderr
  }

  test('refuses a model.json that is none', async () => {
    await cp(path('run'), path('edited'), { recursive: true })
    for (const text of ['', '[', 'null', '7', '[]', '{"format":"centroidal clustering"}']) {
      await rm(path('edited/model.json'))
      await writeFile(path('edited/model.json'), text)
      await refusal(path('edited'))
    }
  })

  test('names what is wrong with run.json: the field, its value, the cure', async () => {
    const model = await loadModel(path('run'))
    const notes = await jsonOf('run/run.json')
    const wrong = { ...notes, title: [{ text: '<script>alert(1)</script>' }] }
    for (const [text, sentence] of [
      ['[', /is not a JSON object/],
      ['7', /is not a JSON object/],
      [JSON.stringify({ ...notes, version: 99 }), /a later version of centroidal/],
      [JSON.stringify(wrong), /title is a list of 1, expected text .*run the command .* again, or delete it/],
    ] as const) {
      await model.save(path('noted'), { files: { 'run.json': text } })
      expect(await refusal(path('noted'))).toMatch(sentence)
    }
  })
})
