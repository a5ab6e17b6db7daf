/** What people ask of a model besides labels: distances, summaries, members, inertia, and vectors that come later. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  type ClusterModel,
  cluster,
  type Device,
  loadModel,
  loadQuantizer,
  matrix,
  normalize,
  openDevice,
  sparseMatrix,
  toArrays,
  trainQuantizer,
  vectorsOf,
} from '../../src/index.ts'
import { failure } from '../data/failure.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
let device: Device
let model: ClusterModel
const { vectors } = blobs({ rows: 60, cols: 5, clusters: 4, separated: true, seed: 3 })
const rows = toArrays(vectors)

beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
  model = await cluster(vectors, { k: 4, device })
})
afterAll(() => device.close())

const squared = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, j) => sum + (value - b[j]) ** 2, 0)

test('predict gives a number for one vector', async () => {
  for (const row of [0, 17, 59]) {
    expect(await model.predict(rows[row], { device })).toBe(model.labels[row])
    expect(await model.predict(Float64Array.from(rows[row]), { device })).toBe(model.labels[row])
    expect(await model.predict([rows[row]], { device })).toEqual(model.labels.slice(row, row + 1))
  }
  expect(await failure(() => model.predict([1, 2], { device }))).toMatch(/2 columns and the model 5/)
})

test('inertia is the sum of squared distances, with weights too', async () => {
  const weights = rows.map((_, i) => 1 + (i % 3))
  for (const each of [model, await cluster(vectors, { k: 4, weights, device })]) {
    const centers = toArrays(each.centers)
    const weightOf = (i: number): number => (each === model ? 1 : weights[i])
    const sum = rows.reduce((total, row, i) => total + weightOf(i) * squared(row, centers[each.labels[i]]), 0)
    expect(each.inertia / sum).toBeCloseTo(1, 4)
    await each.save(path('run'))
    expect((await loadModel(path('run'))).inertia).toBe(each.inertia)
  }
})

describe('transform', () => {
  test('gives the distances to all centres', async () => {
    const found = toArrays(await model.transform(vectors, { device }))
    const centers = toArrays(model.centers)
    found.forEach((distances, i) => {
      distances.forEach((distance, c) => {
        expect(distance).toBeCloseTo(Math.sqrt(squared(rows[i], centers[c])), 3)
      })
    })
  })

  test('of cosine between vectors of length one, of sparse rows, and far from zero', async () => {
    const turned = await cluster(vectors, { k: 3, metric: 'cosine', device })
    const [first] = toArrays(await turned.transform(rows.slice(0, 1), { device }))
    const [unit] = toArrays(normalize(rows.slice(0, 1)))
    expect(first[2]).toBeCloseTo(Math.sqrt(squared(unit, toArrays(turned.centers)[2])), 4)
    const sparse = sparseMatrix({ offsets: [0, 1], columns: [2], values: [3] }, 1, 5)
    const [thin] = toArrays(await model.transform(sparse, { device }))
    expect(thin[1]).toBeCloseTo(Math.sqrt(squared([0, 0, 3, 0, 0], toArrays(model.centers)[1])), 3)
    const far = { data: Float64Array.of(1.7e9, 1.7e9 + 1, 1.7e9 + 50, 1.7e9 + 51), rows: 4, cols: 1 }
    const away = await cluster(far, { k: 2, device })
    const nearest = toArrays(await away.transform(far, { device })).map((distances) => Math.min(...distances))
    expect(nearest).toEqual([0.5, 0.5, 0.5, 0.5])
  })
})

describe('summaries', () => {
  test('list sizes, spread and the nearest, by name', async () => {
    const names = rows.map((_, i) => `row ${i}`)
    const summaries = await model.summaries(vectors, { count: 3, names, device })
    const { distances } = await model.assign(vectors, { device })
    expect(summaries.map(({ size }) => size)).toEqual(Array.from(model.sizes))
    const inertia = summaries.reduce((sum, { size, distortion }) => sum + size * distortion, 0)
    expect(inertia / model.inertia).toBeCloseTo(1, 4)
    for (const { cluster: own, members, share, size } of summaries) {
      expect(share).toBe(size / 60)
      const sorted = Array.from(distances.keys())
        .filter((row) => model.labels[row] === own)
        .sort((a, b) => distances[a] - distances[b] || a - b)
      expect(members.map(({ row }) => row)).toEqual(sorted.slice(0, 3))
      expect(members[0]).toEqual({ row: sorted[0], distance: distances[sorted[0]], name: `row ${sorted[0]}` })
    }
    const nearest = await model.nearestMembers(vectors, 3, { device })
    expect(nearest).toEqual(summaries.map(({ members }) => Uint32Array.from(members, ({ row }) => row)))
    expect(await failure(() => model.summaries(vectors, { names: ['a'], device }))).toMatch(
      /for each of the 60 vectors/,
    )
  })

  test('take names from objects', async () => {
    const objects = rows.map((embedding, i) => ({ embedding, title: `title ${i}` }))
    const source = vectorsOf(
      objects,
      ({ embedding }) => embedding,
      ({ title }) => title,
    )
    const found = await cluster(source, { k: 4, device })
    expect(found.labels).toEqual(model.labels)
    for (const { members } of await found.summaries(source, { count: 2, device })) {
      for (const { row, name } of members) expect(name).toBe(`title ${row}`)
    }
  })
})

describe('update', () => {
  test('of a stream gives the means of all vectors', async () => {
    const first = await cluster(rows.slice(0, 30), { k: 4, device, seed: 1 })
    let stream = first
    for (let at = 30; at < 60; at += 10) stream = await stream.update(rows.slice(at, at + 10), { device })
    expect(stream.labels.length).toBe(60)
    expect(stream.labels.slice(0, 30)).toEqual(first.labels)
    for (const [c, center] of toArrays(stream.centers).entries()) {
      const own = rows.filter((_, i) => stream.labels[i] === c)
      center.forEach((value, j) => {
        expect(value).toBeCloseTo(own.reduce((sum, row) => sum + row[j], 0) / own.length, 4)
      })
    }
    // The clusters are separated, so that the batches change no label.
    expect(stream.labels).toEqual(await stream.predict(vectors, { device }))
    await stream.save(path('stream'))
    const again = await loadModel(path('stream'))
    expect([again.facts.rows, again.inertia]).toEqual([60, stream.inertia])
  })

  test('keeps centres of cosine at length one, and refuses mixtures', async () => {
    const turned = await cluster(vectors, { k: 3, metric: 'cosine', device })
    for (const center of toArrays((await turned.update(vectors, { device })).centers)) {
      expect(Math.hypot(...center)).toBeCloseTo(1, 5)
    }
    const mixture = await cluster(vectors, { k: 2, method: 'gmm', device })
    expect(await failure(() => mixture.update(vectors, { device }))).toMatch(/mixtures cannot be updated/)
  })
})

test('a model and a quantizer in one file, as pages save them', async () => {
  for (const each of [model, await cluster(vectors, { k: 2, method: 'gmm', device })]) {
    const copy = await loadModel(new File([each.toBytes()], 'model.zip'))
    expect([copy.labels, copy.centers, copy.facts, copy.weights]).toEqual([
      ...[each.labels, each.centers, each.facts, each.weights],
    ])
  }
  const quantizer = await trainQuantizer(vectors, { type: 'ck', m: 2, codewords: 8, device })
  const other = await loadQuantizer(new Blob([quantizer.toBytes()]))
  expect((await other.encode(vectors, { device })).data).toEqual((await quantizer.encode(vectors, { device })).data)
  const bytes = model.toBytes()
  bytes[Math.floor(bytes.length / 2)] ^= 1
  expect(await failure(() => loadModel(new File([bytes], 'broken.zip')))).toMatch(/^bad-file: .*broken\.zip/)
  expect(await failure(() => loadQuantizer(new Blob([model.toBytes()])))).toMatch(/^bad-file: /)
  expect(await failure(() => loadModel(new Blob(['text'])))).toMatch(/^bad-file: /)
})

test('a device of one block is closed at its end', async () => {
  const opened = await openDevice({ kind: 'cpu', threads: 1 })
  await opened[Symbol.asyncDispose]()
  expect(await failure(() => cluster(vectors, { k: 2, device: opened }))).toMatch(/^device-lost: /)
})

test('normalize brings rows to length one', () => {
  expect(toArrays(normalize([[3, 4], [0, -2]]))).toEqual([[Math.fround(0.6), Math.fround(0.8)], [0, -1]]) // biome-ignore format: vectors
  expect(() => normalize([[1], [0]])).toThrow(/Row 1 of the vectors is all zeros/)
  expect(() => normalize(matrix(Float32Array.of(Number.NaN), 1, 1))).toThrow(/Row 0 of the vectors holds/)
})
