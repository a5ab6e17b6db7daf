/** A model saved and loaded again is the same model. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { blobs, ClusterModel, cluster, loadModel, matrix, readIntegers, readVectors } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'centroidal-models-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { vectors } = blobs({ rows: 500, cols: 7, clusters: 6, spread: 0.4, seed: 2 })
const far = matrix(
  Float32Array.from(vectors.data, (value) => value * 3 + 7000),
  500,
  7,
)

test.each([
  ['plain', vectors, 'euclidean'],
  ['shifted', far, 'euclidean'],
  ['cosine', vectors, 'cosine'],
] as const)('%s: same centres, labels, facts and predictions; resumes to the same bits', async (name, data, metric) => {
  const options = { k: 9, metric, seed: 4, tolerance: 0, device: 'cpu' } as const
  const model = await cluster(data, { ...options, iterations: 3 })
  const path = join(folder, name)
  await model.save(path)
  const loaded = await loadModel(path)
  expect(loaded.centers).toEqual(model.centers)
  expect(loaded.labels).toEqual(model.labels)
  expect(loaded.facts).toEqual(model.facts)
  expect(await loaded.predict(data, { device: 'cpu' })).toEqual(await model.predict(data, { device: 'cpu' }))
  const whole = await cluster(data, { ...options, iterations: 6 })
  const resumed = await cluster(data, { ...options, iterations: 6, resume: loaded })
  expect(resumed.centers.data).toEqual(whole.centers.data)
})

test('how long the start took is kept; models of earlier versions do not say', async () => {
  const model = await cluster(vectors, { k: 9, device: 'cpu', iterations: 2, tolerance: 0 })
  const { startSeconds = -1, ...older } = model.facts
  expect(startSeconds).toBeGreaterThan(0)
  expect(startSeconds).toBeLessThan(model.facts.iterations[0].seconds)
  const resumed = await cluster(vectors, { k: 9, device: 'cpu', iterations: 4, tolerance: 0, resume: model })
  expect(resumed.facts.startSeconds).toBe(startSeconds)
  const path = join(folder, 'older')
  await new ClusterModel(model.centers, model.labels, older, model.state).save(path)
  expect((await loadModel(path)).facts).toEqual(older)
})

test('the files are what others read', async () => {
  const model = await cluster(vectors, { k: 4, device: 'cpu' })
  const path = join(folder, 'files')
  await model.save(path)
  expect((await readVectors(join(path, 'centers.npy'))).data).toEqual(model.centers.data)
  const labels = await readIntegers(join(path, 'labels.npy'))
  expect(Uint32Array.from(labels.data)).toEqual(model.labels)
  const facts = JSON.parse(readFileSync(join(path, 'model.json'), 'utf8'))
  expect(facts).toMatchObject({
    format: 'centroidal clustering',
    version: 2,
    method: 'lloyd',
    k: 4,
    rows: 500,
    cols: 7,
  })
  expect(facts.iterations.at(-1).distortion).toBe(facts.distortion)
})

test('folders that are no model, too new, or mixed up are refused in a sentence', async () => {
  const path = join(folder, 'bad')
  await (await cluster(vectors, { k: 4, device: 'cpu' })).save(path)
  const json = readFileSync(join(path, 'model.json'), 'utf8')
  const refuse = async (text: string, message: RegExp): Promise<void> => {
    writeFileSync(join(path, 'model.json'), text)
    await expect(loadModel(path)).rejects.toThrow(message)
  }
  await refuse(json.replace('"version": 2', '"version": 99'), /has format version 99.*reads version 2: update/)
  await refuse(
    json.replace('"version": 2', '"version": 1'),
    /has format version 1.*checksums: make the clustering again/,
  )
  await refuse(
    json.replace('centroidal clustering', 'something else'),
    /does not belong to a clustering: its format is "so/,
  )
  await refuse(json.replace('"k": 4', '"k": 5'), /model\.json was changed or damaged after it was saved/)
  await refuse('{ oops', /is not a JSON object/)
  await expect(loadModel(join(folder, 'nowhere'))).rejects.toThrow(/there is no such file/)
})

test('hkm keeps its tree: new points descend it, saved and loaded or not', async () => {
  const { vectors: many } = blobs({ rows: 2000, cols: 8, clusters: 40, spread: 0.2, seed: 5 })
  const options = { k: 40, method: 'hkm', branching: 4, seed: 1 } as const
  for (const device of ['cpu', 'webgpu'] as const) {
    const model = await cluster(many, { ...options, device })
    const descended = await model.assign(many, { device })
    const exact = await model.assign(many, { device, descend: false })
    let same = 0
    descended.distances.forEach((distance, i) => {
      expect(distance).toBeGreaterThanOrEqual(exact.distances[i] * (1 - 1e-5) - 1e-6)
      same += descended.labels[i] === exact.labels[i] ? 1 : 0
    })
    // A descent cannot come back from a wrong turn, so a few points end elsewhere: that shows it descends.
    expect(same / 2000).toBeGreaterThan(0.8)
    expect(same).toBeLessThan(2000)
    const path = join(folder, `tree-${device}`)
    await model.save(path)
    const loaded = await loadModel(path)
    expect(loaded.tree).toEqual(model.tree)
    expect(await loaded.predict(many, { device })).toEqual(descended.labels)
  }
  const flat = await cluster(many, { k: 40, method: 'rakm', iterations: 2, device: 'cpu' })
  expect(flat.tree).toBeUndefined()
})
