/** One of every kind of folder that can be saved, twice: an old save and a new one that differs in every file. */

import { OutFolder } from '../../src/cli/out-folder.ts'
import { checksumOf } from '../../src/core/checksum.ts'
import type { FolderContents } from '../../src/data/folder-save.ts'
import {
  blobs,
  buildIndex,
  CodeIndex,
  cluster,
  type Device,
  InvertedFile,
  loadIndex,
  loadModel,
  loadQuantizer,
  readSavedText,
  trainQuantizer,
} from '../../src/index.ts'

export interface SavedKind {
  readonly name: string
  save(which: 'old' | 'new', folder: string): Promise<void>
  /** `old` or `new`, if all of it is; else what it is. */
  load(folder: string): Promise<string>
  /** Loads the folders inside, each by itself. */
  loadParts?(folder: string): Promise<void>
}

interface Pair<T> {
  readonly old: T
  readonly new: T
}

const { vectors } = blobs({ rows: 60, cols: 4, clusters: 5, spread: 0.5, seed: 3 })
const images = Uint32Array.from({ length: 60 }, (_, row) => Math.floor(row / 10))

export async function savedKinds(device: Device): Promise<SavedKind[]> {
  const model = await both((seed) => cluster(vectors, { k: 4 + seed, iterations: 2, seed, device }))
  const tree = await cluster(vectors, { k: 6, method: 'hkm', branching: 2, device })
  const mixture = await cluster(vectors, { k: 3, method: 'gmm', iterations: 2, device })
  const quantizer = {
    old: await trainQuantizer(vectors, { type: 'ck', m: 2, codewords: 4, iterations: 1, device }),
    new: await trainQuantizer(vectors, { type: 'pq', m: 2, codewords: 8, iterations: 1, device }),
  }
  const index = await both(async (seed) => {
    const made = new CodeIndex(seed === 0 ? quantizer.old : quantizer.new)
    await made.add(vectors, { device })
    made.remove([seed])
    return made
  })
  const file = await both(async (seed) => {
    const made = await InvertedFile.train(vectors, seed === 0 ? model.old : model.new, {
      type: 'pq',
      m: 2,
      codewords: 4,
      iterations: 1,
      seed,
      device,
    })
    await made.add(vectors, { device })
    made.remove([seed])
    return made
  })
  const pictures = await both((seed) => buildIndex(seed === 0 ? model.old : model.new, vectors, images, { device }))
  const texts = {
    old: { 'run.json': '{"a": 1}', 'old.txt': 'old' },
    new: { 'run.json': '{"a": 2}', 'report.html': '<p>' },
  }
  return [
    kind('model', model, loadModel),
    kind('model with a tree over a mixture', { old: mixture, new: tree }, loadModel),
    kind('quantizer', quantizer, loadQuantizer),
    {
      ...kind('code index', index, (folder) => CodeIndex.load(folder)),
      loadParts: async (folder) => {
        await loadQuantizer(`${folder}/quantizer`)
      },
    },
    {
      ...kind('inverted file', file, (folder) => InvertedFile.load(folder)),
      loadParts: async (folder) => {
        await loadQuantizer(`${folder}/quantizer`)
        await loadModel(`${folder}/clusters`)
      },
    },
    {
      ...kind('image index', pictures, loadIndex),
      loadParts: async (folder) => {
        await loadModel(`${folder}/vocabulary`)
      },
    },
    {
      name: 'folder of the command line',
      save: async (which, folder) => (await OutFolder.claim(folder)).save(model[which], texts[which]),
      load: async (folder) => {
        const loaded = markOf(await loadModel(folder))
        const of = (which: 'old' | 'new'): boolean => loaded === markOf(model[which])
        const which = of('old') ? 'old' : of('new') ? 'new' : 'neither'
        for (const name of ['run.json', 'old.txt', 'report.html']) {
          const wanted = (texts[which as 'old' | 'new'] as Record<string, string>)[name]
          if ((await readSavedText(folder, name)) !== wanted) return `${which} with another ${name}`
        }
        return which
      },
    },
  ]
}

async function both<T>(make: (seed: number) => Promise<T>): Promise<Pair<T>> {
  return { old: await make(0), new: await make(1) }
}

interface Saveable {
  save(folder: string): Promise<void>
  folderContents(): FolderContents
}

function kind(name: string, pair: Pair<Saveable>, load: (folder: string) => Promise<Saveable>): SavedKind {
  const marks = { old: markOf(pair.old), new: markOf(pair.new) }
  if (marks.old === marks.new) throw new Error(`${name}: the two saves are the same`)
  return {
    name,
    save: (which, folder) => pair[which].save(folder),
    load: async (folder) => {
      const found = markOf(await load(folder))
      return found === marks.old ? 'old' : found === marks.new ? 'new' : 'neither'
    },
  }
}

function markOf(made: Saveable): string {
  return contentsMark(made.folderContents())
}

/** Of every byte, in any order of the facts. */
function contentsMark({ facts, files, folders }: FolderContents): string {
  const told = JSON.stringify(facts, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  const own = checksumOf(new TextEncoder().encode(told), ...Object.values(files).flat())
  return [own, ...Object.values(folders ?? {}).map(contentsMark)].join(' ')
}
