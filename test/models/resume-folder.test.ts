/** A run that was saved, loaded and resumed ends with the bits of one that was never interrupted. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClusterModel, cluster, type Device, loadModel, matrix, openDevice } from '../../src/index.ts'
import { bitsOf, cloud, SUBJECTS } from '../clustering/contract/subjects.ts'

let device: Device
let folder: string
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
  folder = await mkdtemp(join(tmpdir(), 'centroidal-resume-'))
})
afterAll(async () => {
  await device.close()
  await rm(folder, { recursive: true })
})

const plain = cloud(11)
/** Far from zero, so that centres are kept in a frame. */
const far = matrix(
  plain.data.map((value) => value + 4096),
  plain.rows,
  plain.cols,
)

async function throughFolder(model: ClusterModel): Promise<ClusterModel> {
  await model.save(join(folder, 'model'))
  return loadModel(join(folder, 'model'))
}

test.each(SUBJECTS)('$name', async ({ options }) => {
  for (const vectors of [plain, far]) {
    const asked = { ...options, iterations: 5, device }
    const whole = await cluster(vectors, asked)
    for (const iterations of [1, 3]) {
      const half = await throughFolder(await cluster(vectors, { ...asked, iterations }))
      expect(bitsOf(await cluster(vectors, { ...asked, resume: half }))).toEqual(bitsOf(whole))
    }
    expect(bitsOf(await cluster(vectors, { ...asked, resume: await throughFolder(whole) }))).toEqual(bitsOf(whole))
  }
})

test('a checkpoint of a later restart keeps the best before it', async () => {
  for (const given of [
    { k: 9, method: 'lloyd', start: 'random' },
    { k: 5, method: 'gmm', start: 'random' },
    { k: 9, method: 'hkm' },
  ] as const) {
    const asked = { ...given, restarts: 3, iterations: 3, tolerance: 0, seed: 4, device }
    const kept: ClusterModel[] = []
    const whole = await cluster(far, { ...asked, checkpoint: { every: 1, save: (model) => void kept.push(model) } })
    for (const half of kept.slice(-4)) {
      const rest = await cluster(far, { ...asked, resume: await throughFolder(half) })
      expect(bitsOf(rest)).toEqual(bitsOf(whole))
    }
  }
})
