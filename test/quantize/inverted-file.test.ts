import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterModel, cluster, type Device, InvertedFile, matrix, openDevice } from '../../src/index.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'
import { expectClose, expectSame } from '../tolerance.ts'
import { order, slanted } from './checks.ts'

const NONE = 0xffffffff

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(name, () => {
    let device: Device
    let model: ClusterModel
    const vectors = slanted(240, 6, 1, 50)
    const queries = slanted(7, 6, 2, 50)
    beforeAll(async () => {
      device = await openDevice(options)
      model = await cluster(vectors, { k: 9, seed: 1, device })
    })
    afterAll(() => device.close())

    test.each([
      { m: 3, codewords: 16 },
      { m: 2, codewords: 8, rank: 3 },
    ])('looking into all clusters is brute force over centre and code, %j', async (given) => {
      const file = await InvertedFile.train(vectors, model, { type: 'ck', iterations: 4, device, ...given })
      await file.add(vectors, { device })
      expect(file.size).toBe(240)
      // What a code stands for: its centre and the decoded rest.
      const labels = await model.predict(vectors, { device })
      const rest = matrix(
        vectors.data.map(
          (value, i) => value - model.centers.data[labels[Math.floor(i / 6)] * 6 + (i % 6)],
        ) as Float32Array,
        240,
        6,
      )
      const { quantizer } = file
      const decoded = await quantizer.decode(await quantizer.encode(rest, { device }), { device })
      const base = matrix(
        decoded.data.map(
          (value, i) => value + model.centers.data[labels[Math.floor(i / 6)] * 6 + (i % 6)],
        ) as Float32Array,
        240,
        6,
      )
      const found = await file.search(queries, { nearest: 10, probe: 9, device })
      for (let query = 0; query < 7; query++) {
        const best = order(queries, query, base).slice(0, 10)
        expectClose(
          found.distances.subarray(query * 10, query * 10 + 10),
          best.map(({ distance }) => distance),
          (i) => 1e-3 + 1e-4 * best[i].distance,
        )
        expect(new Set(found.labels.subarray(query * 10, query * 10 + 10)).size).toBe(10)
      }
      // Few clusters: never nearer than all, and only from those clusters.
      const one = await file.search(queries, { nearest: 10, probe: 1, device })
      const own = await model.predict(queries, { device })
      one.labels.forEach((id, i) => {
        if (id !== NONE) expect(labels[id]).toBe(own[Math.floor(i / 10)])
        expect(one.distances[i]).toBeGreaterThanOrEqual(found.distances[i] * (1 - 1e-5))
      })
      const symmetric = await file.search(queries, { nearest: 3, probe: 9, distance: 'symmetric', device })
      expect(symmetric.labels.every((id) => id < 240)).toBe(true)
    })

    test('ids, adding, removing, re-ranking', async () => {
      const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 3, codewords: 16, iterations: 3, device })
      expect((await file.search(queries, { device })).labels.every((id) => id === NONE)).toBe(true)
      await file.add(matrix(vectors.data.subarray(0, 600), 100, 6), { device })
      await file.add(matrix(vectors.data.subarray(600), 140, 6), { device })
      const exact = await file.search(queries, { nearest: 4, probe: 9, candidates: 240, rerank: vectors, device })
      for (let query = 0; query < 7; query++) {
        const best = order(queries, query, vectors).slice(0, 4)
        expectSame(
          exact.labels.subarray(query * 4, query * 4 + 4),
          best.map(({ id }) => id),
        )
      }
      const before = await file.search(queries, { nearest: 5, probe: 9, device })
      const gone = [...new Set(before.labels.filter((_, i) => i % 5 === 0))]
      expect(file.remove(gone)).toBe(gone.length)
      const after = await file.search(queries, { nearest: 5, probe: 9, device })
      for (const id of gone) expect(after.labels).not.toContain(id)
      // Put back under the same ids, they are found as before.
      const rows = Float32Array.from(gone.flatMap((id) => Array.from(vectors.data.subarray(id * 6, id * 6 + 6))))
      await file.add(matrix(rows, gone.length, 6), { ids: gone, device })
      const again = await file.search(queries, { nearest: 5, probe: 9, device })
      expectSame(again.distances, before.distances)
    })

    test('what does not fit is refused', async () => {
      const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 2, codewords: 4, iterations: 1, device })
      await expect(file.search(queries, { probe: 10, device })).rejects.toThrow(/Option probe is 10: give at most 9/)
      await expect(file.search(slanted(2, 5, 1), { device })).rejects.toThrow(/has 5 columns and the file 6/)
      const turned = await cluster(vectors, { k: 3, metric: 'cosine', device })
      expect(() => new InvertedFile(turned, file.quantizer, undefined, { metric: 'inner-product' })).toThrow(
        /Option metric is "inner-product": the model has metric cosine; an inverted file of this metric requires a model with metric euclidean/,
      )
    })
  })
}

test('a closed device is refused, also where there is nothing to search', async () => {
  const vectors = slanted(60, 4, 3, 50)
  const device = await openDevice({ kind: 'cpu', shared: false })
  const model = await cluster(vectors, { k: 4, device })
  const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 2, codewords: 4, device })
  await device.close()
  await expect(file.search(vectors, { device })).rejects.toThrow(/The device is closed/)
})
