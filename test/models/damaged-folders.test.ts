/** Folders whose values are wrong are refused in a sentence, also when all checksums are right. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { isSealed } from '../../src/data/sealed-json.ts'
import {
  blobs,
  buildIndex,
  CentroidalError,
  CodeIndex,
  cluster,
  type Device,
  InvertedFile,
  loadIndex,
  loadModel,
  loadQuantizer,
  matrix,
  openDevice,
  trainQuantizer,
} from '../../src/index.ts'
import { editArray, editJson, type Json, recount } from '../data/resealed.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
const { vectors } = blobs({ rows: 60, cols: 4, clusters: 5, spread: 0.5, seed: 3 })
const far = matrix(
  vectors.data.map((value) => value + 5000),
  60,
  4,
)
const images = Uint32Array.from({ length: 60 }, (_, row) => Math.floor(row / 10))
const LOADERS: Record<string, (folder: string) => Promise<unknown>> = {
  plain: loadModel,
  shifted: loadModel,
  tree: loadModel,
  mixture: loadModel,
  quantizer: loadQuantizer,
  codes: (folder) => CodeIndex.load(folder),
  file: (folder) => InvertedFile.load(folder),
  images: loadIndex,
}

beforeAll(async () => {
  const device: Device = await openDevice({ kind: 'cpu', threads: 1 })
  const plain = await cluster(vectors, { k: 5, iterations: 2, device })
  await plain.save(path('plain'))
  await (await cluster(far, { k: 5, iterations: 2, device })).save(path('shifted'))
  await (await cluster(vectors, { k: 6, method: 'hkm', branching: 2, device })).save(path('tree'))
  await (await cluster(vectors, { k: 3, method: 'gmm', iterations: 2, device })).save(path('mixture'))
  const quantizer = await trainQuantizer(vectors, { type: 'ck', m: 3, codewords: 5, iterations: 1, device })
  await quantizer.save(path('quantizer'))
  const codes = new CodeIndex(quantizer)
  await codes.add(vectors, { device })
  await codes.save(path('codes'))
  const file = new InvertedFile(plain, quantizer)
  await file.add(vectors, { device })
  await file.save(path('file'))
  await (await buildIndex(plain, vectors, images, { device })).save(path('images'))
  await device.close()
})

let copies = 0

/** A copy to damage. */
function copyOf(kind: string): string {
  const copy = path(`copy-${copies++}`)
  cpSync(path(kind), copy, { recursive: true })
  return copy
}

async function expectRefused(kind: string, damage: (folder: string) => void, sentence: RegExp): Promise<void> {
  const folder = copyOf(kind)
  damage(folder)
  const error = await LOADERS[kind](folder).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CentroidalError)
  expect((error as Error).message).toMatch(sentence)
}

describe('every byte counts', () => {
  test.each(Object.keys(LOADERS))('%s', async (kind) => {
    await LOADERS[kind](path(kind))
    const names = readdirSync(path(kind), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'))
    expect(names.length).toBeGreaterThan(1)
    for (const name of names) {
      const folder = copyOf(kind)
      const bytes = readFileSync(join(folder, name))
      for (const at of [0, 11, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const damaged = Uint8Array.from(bytes)
        damaged[at] ^= 1
        writeFileSync(join(folder, name), damaged)
        await expect(LOADERS[kind](folder), `${name} at ${at}`).rejects.toBeInstanceOf(CentroidalError)
      }
    }
  })
})

type Edit = (folder: string) => void
const json =
  (edit: (json: Json) => void, name?: string): Edit =>
  (folder) =>
    editJson(folder, edit, name)
const words =
  (array: string, at: number, value: number, name?: string): Edit =>
  (folder) =>
    editArray(folder, array, Uint32Array, (data) => data.fill(value, at, at + 1), name)
const floats =
  (array: string, at: number, value: number): Edit =>
  (folder) =>
    editArray(folder, array, Float32Array, (data) => data.fill(value, at, at + 1))

describe('values are checked where checksums are right', () => {
  const cases: [kind: string, what: string, edit: Edit, sentence: RegExp][] = [
    ['tree', 'a child that is not there', words('tree', 8, 1000), /tree\.npy is not a tree over 6 clusters: node 4/],
    ['tree', 'endless children', words('tree', 1, 0x7fffffff), /node 0 has 2147483647 children/],
    ['tree', 'a cycle', words('tree', 0, 0), /node 0 has 2 children from node 0 on/],
    ['plain', 'the wrong frame', json((it) => (it.frame.unit = true)), /frame\.unit is true, where false/],
    ['plain', 'a label of no cluster', words('labels', 7, 5), /labels\.npy holds 5 at position 7.*less than 5/],
    [
      'plain',
      'a path out of the folder',
      json((it) => (it.files[0].name = '../secret.npy')),
      /does not list the files/,
    ],
    ['plain', 'another path', json((it) => (it.staging = '../../etc')), /does not list the files/],
    ['plain', 'a file twice', json((it) => it.files.push(it.files[0])), /does not list the files/],
    ['plain', 'no centres', json((it) => it.files.shift()), /does not list centers\.npy/],
    ['plain', 'a centre that is no number', floats('centers', 3, Number.NaN), /centers\.npy holds NaN at position 3/],
    ['plain', 'another k', json((it) => (it.k = 6)), /centers\.npy is 5 x 4 of float32, where 6 x 4/],
    ['plain', 'rows as text', json((it) => (it.rows = '60')), /model\.json: rows is "60", where a whole number/],
    ['plain', 'no rounds', json((it) => (it.iterations = [])), /iterations is an array of 0/],
    [
      'plain',
      'a round without distortion',
      json((it) => (it.iterations[0].distortion = null)),
      /iterations\[0\]\.dist/,
    ],
    ['plain', 'rounds out of order', json((it) => it.iterations.reverse()), /iterations\[1\]\.iteration is 1/],
    ['plain', 'an unknown field', json((it) => (it.extra = 1)), /has an unknown field "extra"/],
    ['plain', 'an unknown metric', json((it) => (it.metric = 'toString')), /metric is "toString", where one of/],
    ['shifted', 'a short shift', json((it) => it.frame.shift.pop()), /frame\.shift is an array of 3/],
    ['shifted', 'a scale of 3', json((it) => (it.frame.scale = 3)), /frame\.scale is 3, where a power of two/],
    ['shifted', 'a frame of bytes', json((it) => (it.frame.type = 'u8')), /frame has a shift or a scale/],
    ['mixture', 'weights of 2', floats('weights', 0, 2), /weights\.npy has the sum/],
    ['mixture', 'a width of 0', floats('sigmas', 1, 0), /sigmas\.npy holds 0 at position 1/],
    [
      'quantizer',
      'a range beyond',
      json((it) => (it.ranges[0] = 119)),
      /ranges is \[119, .*rising numbers from 0 to 4/,
    ],
    [
      'quantizer',
      'too many columns',
      json((it) => (it.cols = 9)),
      /rotation\.npy, which a rank|rotation\.npy is 4 x 4/,
    ],
    ['quantizer', 'a rank beyond', json((it) => (it.rank = 5)), /rank is 5, where a number up to that of the columns/],
    ['quantizer', 'another m', json((it) => (it.m = 2)), /3 rising numbers/],
    ['quantizer', 'infinite words', floats('books', 0, Infinity), /books\.npy holds Infinity at position 0/],
    ['quantizer', 'no padding', floats('books', 59, 1), /books\.npy holds 1 behind codeword 14/],
    [
      'codes',
      'an unknown code',
      (it) => editArray(it, 'codes', Uint8Array, (data) => data.fill(255, 0, 1)),
      /holds code/,
    ],
    ['codes', 'an id twice', words('ids', 1, 0), /ids\.npy holds 0 twice/],
    ['codes', 'another size', json((it) => (it.size = 59)), /codes\.npy is 60 x/],
    ['file', 'a list of no cluster', words('lists', 3, 5), /lists\.npy holds 5 at position 3/],
    ['file', 'other clusters', json((it) => (it.clusters = 4)), /clusters is 4, where that of the folder clusters, 5/],
    ['images', 'an unknown word', words('words', 2, 9, 'index.json'), /words\.npy holds 9/],
    ['images', 'offsets that fall', words('offsets', 2, 0, 'index.json'), /offsets\.npy falls at position 2/],
    ['images', 'offsets beyond', words('offsets', 6, 1000, 'index.json'), /offsets\.npy goes from 0 to 1000/],
    ['images', 'images out of order', words('ids', 0, 77, 'index.json'), /ids\.npy holds 1 after 77/],
    ['images', 'a count of 0', words('counts', 0, 0, 'index.json'), /counts\.npy holds 0/],
    ['images', 'other words', json((it) => (it.k = 4), 'index.json'), /index\.json: k is 4, where that of the vocab/],
  ]
  test.each(cases)('%s: %s', (kind, _, edit, sentence) => expectRefused(kind, edit, sentence))

  test('an array of another type', () =>
    expectRefused(
      'plain',
      (folder) => {
        const file = join(folder, 'labels.npy')
        writeFileSync(file, readFileSync(file, 'latin1').replace('<u4', '<f4'), 'latin1')
        recount(folder, 'labels.npy')
      },
      /labels\.npy is 60 x 1 of float32, where 60 of uint32/,
    ))

  test('a part that was saved by itself does not belong to the whole any more', async () => {
    const folder = copyOf('file')
    await (await loadQuantizer(path('quantizer'))).save(join(folder, 'quantizer'))
    await expect(InvertedFile.load(folder)).rejects.toThrow(
      /quantizer\/model\.json .*: the folder was changed or damaged/,
    )
  })

  test('the parts of an index can be loaded by themselves', async () => {
    await loadQuantizer(path('file/quantizer'))
    await loadModel(path('file/clusters'))
    await loadModel(path('images/vocabulary'))
  })
})

/** Places of all values in JSON. */
function* places(value: Json, at: (string | number)[] = []): Generator<(string | number)[]> {
  if (at.length > 0) yield at
  if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) yield* places(value[key], [...at, Array.isArray(value) ? Number(key) : key])
  }
}

test.each(Object.keys(LOADERS))('%s: any value of the JSON file replaced by any other', async (kind) => {
  const folder = copyOf(kind)
  const name = kind === 'images' ? 'index.json' : 'model.json'
  const text = readFileSync(join(folder, name))
  expect(isSealed(text)).toBe(true)
  let refused = 0
  for (const at of places(JSON.parse(text.toString()))) {
    for (const value of [null, -1, 1e15, '__proto__', []]) {
      writeFileSync(join(folder, name), text)
      editJson(
        folder,
        (it) => {
          at.slice(0, -1).reduce((inner, key) => inner[key], it)[at[at.length - 1]] = value
        },
        name,
      )
      const error = await LOADERS[kind](folder).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error !== undefined) expect(error, `${at} = ${JSON.stringify(value)}`).toBeInstanceOf(CentroidalError)
      refused += error === undefined ? 0 : 1
    }
  }
  expect(refused).toBeGreaterThan(50)
})

test('nothing outside the folder is read', async () => {
  mkdirSync(path('outer'))
  const folder = path('outer/model')
  cpSync(path('plain'), folder, { recursive: true })
  cpSync(join(folder, 'centers.npy'), path('outer/secret.npy'))
  editJson(folder, (it) => {
    it.files[0].name = '../secret.npy'
    it.arrays = { '../secret': 'matrix' }
  })
  await expect(loadModel(folder)).rejects.toThrow(/does not list the files of a save/)
})
