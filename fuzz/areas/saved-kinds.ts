/** Every kind of folder the library saves: how it is made, loaded, and asked for results. */
import {
  blobs,
  buildIndex,
  type ClusterModel,
  CodeIndex,
  cluster,
  type Device,
  InvertedFile,
  loadIndex,
  loadModel,
  loadQuantizer,
  type Matrix,
  type MethodName,
  matrix,
  type Quantizer,
  type QuantizerType,
  trainQuantizer,
  VectorLists,
} from '../../src/index.ts'
import { partsOf } from '../problem.ts'

export interface SavedKind {
  readonly name: string
  /** Saves the thing made from data of this seed. */
  save(folder: string, seed: number, device: Device): Promise<void>
  /** Loads it and returns everything it says about the queries, and its facts. */
  probe(folder: string, seed: number, device: Device): Promise<Record<string, unknown>>
}

const ROWS = 40
const COLS = 6

export function savedVectors(seed: number, shift = 0): Matrix {
  const { vectors } = blobs({ rows: ROWS, cols: COLS, clusters: 5, seed })
  return shift === 0
    ? vectors
    : matrix(
        Float32Array.from(vectors.data, (value) => value + shift),
        ROWS,
        COLS,
      )
}

function modelKind(
  name: string,
  method: MethodName,
  { shift = 0, ...options }: { shift?: number; metric?: 'cosine' } = {},
): SavedKind {
  return {
    name,
    async save(folder, seed, device) {
      const model = await cluster(savedVectors(seed, shift), {
        method,
        k: 5,
        iterations: 3,
        tolerance: 0,
        device,
        ...options,
      })
      await model.save(folder)
    },
    async probe(folder, seed, device) {
      const model = await loadModel(folder)
      const vectors = savedVectors(seed, shift)
      const predicted = await model.assign(vectors, { device })
      const resumed = await cluster(vectors, {
        method,
        k: 5,
        iterations: 5,
        tolerance: 0,
        device,
        ...options,
        resume: model,
      })
      const extra = model.sigmas ? await model.responsibilities(vectors, 2, { device }) : {}
      return { ...partsOf(model), facts: factsOf(model), ...predicted, ...extra, resumed: partsOf(resumed) }
    },
  }
}

/** Times differ from save to save, so they are compared as they stand in the folder. */
function factsOf({ facts }: ClusterModel | Quantizer): string {
  return JSON.stringify(facts)
}

async function quantizerResults(quantizer: Quantizer, seed: number, device: Device): Promise<Record<string, unknown>> {
  const vectors = savedVectors(seed)
  const codes = await quantizer.encode(vectors, { device })
  const found = await quantizer.search(codes, vectors, { nearest: 3, device })
  const decoded = await quantizer.decode(codes, { device })
  return { codes: codes.data, decoded: decoded.data, ...found, facts: factsOf(quantizer) }
}

function quantizerKind(type: QuantizerType): SavedKind {
  const settings = { type, m: type === 'ok' || type === 'itq' ? 4 : 2, iterations: 3 }
  const options = type === 'ok' || type === 'itq' ? settings : { ...settings, codewords: 8 }
  return {
    name: `quantizer ${type}`,
    save: async (folder, seed, device) =>
      (await trainQuantizer(savedVectors(seed), { ...options, device })).save(folder),
    probe: async (folder, seed, device) => quantizerResults(await loadQuantizer(folder), seed, device),
  }
}

const codeIndex: SavedKind = {
  name: 'code index',
  async save(folder, seed, device) {
    const quantizer = await trainQuantizer(savedVectors(seed), {
      type: 'pq',
      m: 2,
      codewords: 8,
      iterations: 3,
      device,
    })
    const index = new CodeIndex(quantizer)
    await index.add(savedVectors(seed), { device })
    await index.save(folder)
  },
  async probe(folder, seed, device) {
    const index = await CodeIndex.load(folder)
    const found = await index.search(savedVectors(seed), { nearest: 4, device })
    return {
      ...found,
      codes: index.codes.data,
      ids: index.ids,
      quantizer: await quantizerResults(index.quantizer, seed, device),
    }
  },
}

const invertedFile: SavedKind = {
  name: 'inverted file',
  async save(folder, seed, device) {
    const vectors = savedVectors(seed)
    const model = await cluster(vectors, { k: 4, device })
    const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 2, codewords: 8, iterations: 3, device })
    await file.add(vectors, { device })
    await file.save(folder)
    await file.close()
  },
  async probe(folder, seed, device) {
    const file = await InvertedFile.load(folder)
    const found = await file.search(savedVectors(seed), { nearest: 4, probe: 2, device })
    await file.close()
    return {
      ...found,
      ids: file.ids,
      model: partsOf(file.model),
      quantizer: await quantizerResults(file.quantizer, seed, device),
    }
  },
}

const vectorLists: SavedKind = {
  name: 'vector lists',
  async save(folder, seed, device) {
    const vectors = savedVectors(seed)
    const lists = new VectorLists(await cluster(vectors, { k: 4, device }))
    await lists.add(vectors, { device })
    await lists.save(folder)
  },
  async probe(folder, seed, device) {
    const lists = await VectorLists.load(folder)
    const found = await lists.search(savedVectors(seed), { nearest: 4, probe: 2, device })
    return { ...found, ids: lists.ids, model: partsOf(lists.model) }
  },
}

const imageIndex: SavedKind = {
  name: 'image index',
  async save(folder, seed, device) {
    const model = await cluster(savedVectors(seed), { k: 6, device })
    const images = Uint32Array.from({ length: ROWS }, (_, i) => (i >> 2) * 3)
    await (await buildIndex(model, savedVectors(seed), images, { device })).save(folder)
  },
  async probe(folder, seed, device) {
    const index = await loadIndex(folder)
    const bags = Array.from(index.ids, (id) => index.bag(id))
    const ranking = await index.search(savedVectors(seed), { device })
    return { ids: index.ids, bags, ...ranking, vocabulary: partsOf(index.vocabulary) }
  },
}

export const SAVED_KINDS: readonly SavedKind[] = [
  modelKind('lloyd model', 'lloyd'),
  modelKind('cosine model', 'lloyd', { metric: 'cosine' }),
  modelKind('shifted model', 'lloyd', { shift: 5000 }),
  modelKind('hkm model', 'hkm'),
  modelKind('bisecting model', 'bisecting'),
  modelKind('gmm model', 'gmm'),
  modelKind('rakm model', 'rakm'),
  quantizerKind('pq'),
  quantizerKind('ck'),
  quantizerKind('ok'),
  quantizerKind('itq'),
  codeIndex,
  invertedFile,
  vectorLists,
  imageIndex,
]
