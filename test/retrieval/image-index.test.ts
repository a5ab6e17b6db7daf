/** Rankings against dense tf-idf cosines, and everything an index goes through. */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  buildIndex,
  type ClusterModel,
  cluster,
  createRandom,
  type Device,
  ImageIndex,
  loadIndex,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  type Ranking,
  sparseMatrix,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { denseRanking, histogram } from './dense-ranking.ts'

const path = temporaryFolder()
const K = 30
const IMAGES = 25
/** 0 to 124 with gaps, in no order. */
const numberOf = (image: number): number => ((image * 7) % IMAGES) + (image % 2) * 100
const { vectors } = blobs({ rows: 600, cols: 6, clusters: 40, spread: 0.3, seed: 3 })
const random = createRandom(9)
const images = Uint32Array.from({ length: 600 }, () => numberOf(random.below(IMAGES)))
const none = matrix(new Float32Array(0), 0, 6)

let device: Device
let model: ClusterModel
let index: ImageIndex

beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
  model = await cluster(vectors, { k: K, seed: 1, device })
  index = await buildIndex(model, vectors, images, { device })
})
afterAll(() => device.close())

function rowsWhere(wanted: (row: number) => boolean): Matrix & { images: Uint32Array } {
  const rows = Array.from(images.keys()).filter(wanted)
  const data = Float32Array.from(rows.flatMap((row) => Array.from(vectors.data.subarray(row * 6, row * 6 + 6))))
  return { ...matrix(data, rows.length, 6), images: Uint32Array.from(rows, (row) => images[row]) }
}

const imageRows = (...ids: number[]) => rowsWhere((row) => ids.includes(images[row]))

async function bags(ids: ArrayLike<number>, words = model): Promise<number[][]> {
  const labels = await words.predict(vectors, { device })
  return Array.from(ids, (id) =>
    histogram(
      labels.filter((_, row) => images[row] === id),
      K,
    ),
  )
}

function expectSame(found: Ranking, wanted: { images: number[]; scores: number[] }): void {
  expect([...found.images]).toEqual(wanted.images)
  found.scores.forEach((score, i) => {
    expect(score).toBeCloseTo(wanted.scores[i], 6)
  })
}

describe('rankings', () => {
  test('are those of dense tf-idf cosines', async () => {
    const ids = [...index.ids]
    expect(ids).toEqual([...new Set(images)].sort((a, b) => a - b))
    const counts = await bags(ids)
    for (const [i, id] of ids.entries()) {
      const found = await index.search(imageRows(id), { device })
      expectSame(found, denseRanking(ids, counts, counts[i]))
      expect(found.images[0]).toBe(id)
      expect(found.scores[0]).toBeCloseTo(1, 6)
    }
  })

  test('of several queries at once are those of each', async () => {
    const all = await index.searchAll(vectors, images, { device, top: 5 })
    expect(all.map(({ query }) => query)).toEqual([...index.ids])
    for (const { query, ...ranking } of all.slice(0, 6)) {
      expect(await index.search(imageRows(query), { device, top: 5 })).toEqual(ranking)
    }
  })

  test('are cut at top', async () => {
    const whole = await index.search(imageRows(6), { device })
    const cut = await index.search(imageRows(6), { device, top: 3 })
    expect(cut.images).toEqual(whole.images.slice(0, 3))
    expect(cut.scores).toEqual(whole.scores.slice(0, 3))
  })

  test('images with the same words come in the order of their numbers', async () => {
    const one = rowsWhere((row) => images[row] === 6)
    const twins = await buildIndex(model, vectors, images, { device })
    await twins.add(one, new Uint32Array(one.rows).fill(500), { device })
    await twins.add(one, new Uint32Array(one.rows).fill(5000), { device })
    const { images: found, scores } = await twins.search(one, { device, top: 3 })
    expect([...found]).toEqual([6, 500, 5000])
    expect(scores[1]).toBe(scores[0])
    expect(scores[2]).toBe(scores[0])
  })
})

describe('soft words', () => {
  test('one is the hard assignment', async () => {
    const { rows, cols, data } = imageRows(110, 20)
    const query = matrix(data, rows, cols)
    expect(await index.search(query, { device, words: 1 })).toEqual(await index.search(query, { device }))
    // So far away that all goes to the nearest.
    const sharp = await index.search(query, { device, words: 3, sigma: 1e-9 })
    expect(sharp).toEqual(await index.search(query, { device }))
  })

  async function softCounts(query: Matrix, { centers, distortion }: ClusterModel, m: number): Promise<number[]> {
    const { labels, distances } = await nearest(query, centers, { m, device })
    const counts = new Array<number>(K).fill(0)
    for (let row = 0; row < query.rows; row++) {
      const shares = Array.from({ length: m }, (_, i) => Math.exp(-distances[row * m + i] / (distortion / 2)))
      const sum = shares.reduce((a, b) => a + b)
      for (let i = 0; i < m; i++) counts[labels[row * m + i]] += shares[i] / sum
    }
    return counts
  }

  test.each([3, 5, 1000])('%i: shares of the nearest centres, by their distance', async (words) => {
    const query = imageRows(110)
    const counts = await softCounts(query, model, Math.min(words, K))
    const ids = [...index.ids]
    const found = await index.search(query, { device, words: Math.min(words, 256) })
    expectSame(found, denseRanking(ids, await bags(ids), counts))
  })

  test('of cosine, whose distances are those of unit vectors', async () => {
    const cosine = await cluster(vectors, { k: K, metric: 'cosine', device })
    const made = await buildIndex(cosine, vectors, images, { device })
    const { rows, cols, data } = imageRows(110)
    const unit = matrix(
      Float32Array.from(data, (value, at) => {
        const row = Math.floor(at / cols)
        return value / Math.hypot(...data.subarray(row * cols, (row + 1) * cols))
      }),
      rows,
      cols,
    )
    const ids = [...made.ids]
    const wanted = denseRanking(ids, await bags(ids, cosine), await softCounts(unit, cosine, 3))
    expectSame(await made.search(imageRows(110), { device, words: 3 }), wanted)
  })

  test('of data far from zero, dense or sparse', async () => {
    const far = (m: Matrix): Matrix => ({ ...m, data: Float32Array.from(m.data, (value) => value + 5000) })
    const moved = await cluster(far(vectors), { k: K, seed: 1, device })
    expect(moved.state.frame.shift).toBeDefined()
    const made = await buildIndex(moved, far(vectors), images, { device })
    const query = far(imageRows(110))
    const found = await made.search(query, { device, words: 3 })
    expect(found.images[0]).toBe(110)
    const everywhere = {
      offsets: Array.from({ length: query.rows + 1 }, (_, row) => row * query.cols),
      columns: Array.from(query.data, (_, at) => at % query.cols),
      values: query.data,
    }
    const sparse = await made.search(sparseMatrix(everywhere, query.rows, query.cols), { device, words: 3 })
    expect(sparse.images[0]).toBe(110)
    expect(sparse.scores[0]).toBeCloseTo(found.scores[0], 1)
  })

  test('of a tree are its nearest leaves', async () => {
    const tree = await cluster(vectors, { k: K, method: 'hkm', branching: 4, device })
    const made = await buildIndex(tree, vectors, images, { device })
    const ids = [...made.ids]
    const wanted = denseRanking(ids, await bags(ids, tree), await softCounts(imageRows(110), tree, 3))
    expectSame(await made.search(imageRows(110), { device, words: 3 }), wanted)
  })

  test('values that cannot be are refused', async () => {
    const refused = (options: object, message: RegExp) =>
      expect(index.search(imageRows(6), { device, ...options })).rejects.toThrow(message)
    await refused({ words: 0 }, /Option words is 0: give a whole number from 1 to 256/)
    await refused({ words: 2.5 }, /Option words is 2.5/)
    await refused({ words: 3, sigma: 0 }, /Option sigma is 0: give a number above 0/)
    await refused({ top: 0 }, /Option top is 0: give a whole number, 1 or more/)
  })
})

describe('images come and go', () => {
  test('in parts, and out again, the answers are those of one build', async () => {
    const ids = [...index.ids]
    const [first, second] = [ids.slice(0, 9), ids.slice(9)]
    const grown = new ImageIndex(model)
    const late = imageRows(...second)
    await grown.add(late, late.images, { device })
    expect(grown.size).toBe(second.length)
    const early = imageRows(...first)
    await grown.add(early, early.images, { device })
    const everything = await index.searchAll(vectors, images, { device })
    expect(await grown.searchAll(vectors, images, { device })).toEqual(everything)

    grown.remove(first)
    const alone = await buildIndex(model, late, late.images, { device })
    expect(grown.ids).toEqual(alone.ids)
    expect(grown.has(first[0])).toBe(false)
    expect(await grown.searchAll(vectors, images, { device })).toEqual(
      await alone.searchAll(vectors, images, { device }),
    )
    await grown.add(early, early.images, { device })
    expect(await grown.searchAll(vectors, images, { device })).toEqual(everything)
  })

  test('unknown and known numbers are refused, and nothing is half done', async () => {
    const made = await buildIndex(model, vectors, images, { device })
    expect(() => made.remove([6, 4711])).toThrow(
      /^Image 4711 is not among the 25 images of the index: the property ids lists/,
    )
    expect(() => made.bag(4711)).toThrow(/Image 4711/)
    expect(made.has(6)).toBe(true)
    await expect(made.add(imageRows(6), imageRows(6).images, { device })).rejects.toThrow(
      /^Image 6 is already in the index: remove it first/,
    )
    made.remove(6)
    expect(made.size).toBe(24)
  })

  test('bags hold every descriptor', () => {
    for (const id of index.ids) {
      const { words, counts } = index.bag(id)
      expect([...words]).toEqual([...new Set(words)].sort((a, b) => a - b))
      expect(counts.reduce((a, b) => a + b)).toBe(images.filter((image) => image === id).length)
    }
  })
})

describe('at the edges', () => {
  test('images without descriptors are counted and never found', async () => {
    const made = await buildIndex(model, vectors, images, { device, ids: [999, 6] })
    expect(made.size).toBe(26)
    expect([...made.ids]).toContain(999)
    const ids = [...made.ids]
    const counts = await bags(ids)
    const found = await made.search(imageRows(6), { device })
    expectSame(found, denseRanking(ids, counts, counts[ids.indexOf(6)]))
    expect([...found.images]).not.toContain(999)
    expect((await made.search(none, { device })).images).toHaveLength(0)
    const all = await made.searchAll(none, [], { device, ids: [4, 2] })
    expect(all.map(({ query, images }) => [query, images.length])).toEqual([
      [2, 0],
      [4, 0],
    ])
  })

  test('an index of nothing, and of one image', async () => {
    const made = await buildIndex(model, none, [], { device })
    expect(made.size).toBe(0)
    expect((await made.search(imageRows(6), { device })).images).toHaveLength(0)
    const one = imageRows(6)
    await made.add(one, one.images, { device })
    // What every image has weighs nothing.
    expect(await made.search(one, { device })).toEqual({ images: Uint32Array.of(6), scores: Float64Array.of(0) })
  })

  test('words nobody has count for nothing', async () => {
    const labels = await model.predict(vectors, { device })
    const without = rowsWhere((row) => labels[row] !== 4)
    const made = await buildIndex(model, without, without.images, { device })
    const only = rowsWhere((row) => labels[row] === 4)
    expect((await made.search(only, { device })).images).toHaveLength(0)
    const some = matrix(vectors.data.slice(0, 60 * 6), 60, 6)
    const rest = rowsWhere((row) => row < 60 && labels[row] !== 4)
    expect(await made.search(some, { device })).toEqual(await made.search(rest, { device }))
  })

  test('numbers that cannot be are refused', async () => {
    const build = (numbers: ArrayLike<number>) => buildIndex(model, vectors, numbers, { device })
    await expect(build([1, 2])).rejects.toThrow(/There are 2 image numbers for the 600 rows of the vectors to index/)
    await expect(build(new Float32Array(600).fill(0.5))).rejects.toThrow(/The image number of row 0 is 0.5: give whole/)
    await expect(build(new Int32Array(600).fill(-1))).rejects.toThrow(/of row 0 is -1/)
    const wide = matrix(new Float32Array(8), 1, 8)
    await expect(index.search(wide, { device })).rejects.toThrow(/has 8 columns and the vocabulary 6/)
  })
})

describe('saved and loaded', () => {
  test('the answers are the same, and images can still come and go', async () => {
    await index.save(path('index'))
    const loaded = await loadIndex(path('index'))
    expect(loaded.ids).toEqual(index.ids)
    const wanted = await index.searchAll(vectors, images, { device, words: 3 })
    expect(await loaded.searchAll(vectors, images, { device, words: 3 })).toEqual(wanted)
    const some = imageRows(6)
    loaded.remove(6)
    await loaded.add(some, some.images, { device })
    await loaded.save(path('index'))
    expect(await (await loadIndex(path('index'))).searchAll(vectors, images, { device, words: 3 })).toEqual(wanted)
  })

  test('empty too', async () => {
    await new ImageIndex(model).save(path('empty'))
    expect((await loadIndex(path('empty'))).size).toBe(0)
  })

  test('folders that are none, too new or mixed up are refused in a sentence', async () => {
    await index.save(path('bad'))
    const file = path('bad/index.json')
    const json = readFileSync(file, 'utf8')
    const refuse = async (text: string, message: RegExp): Promise<void> => {
      writeFileSync(file, text)
      await expect(loadIndex(path('bad'))).rejects.toThrow(message)
    }
    await refuse(json.replace('"version": 2', '"version": 99'), /format version 99.*reads version 2: update/)
    await refuse(
      json.replace('centroidal image index', 'x'),
      /index\.json does not belong to an image index: its format is "x"/,
    )
    await refuse('{ oops', /is not a JSON object/)
    writeFileSync(file, json)
    const other = await cluster(vectors, { k: K, seed: 2, iterations: 1, device })
    await other.save(path('bad/vocabulary'))
    await expect(loadIndex(path('bad'))).rejects.toThrow(/vocabulary\/.* was changed or damaged/)
    await expect(loadIndex(path('nowhere'))).rejects.toThrow(/there is no such file/)
  })
})
