/** Quantizers and indexes, for the table of calls. */

import type {
  AddOptions,
  AddVectorsOptions,
  CodeIndexOptions,
  CodeSearchOptions,
  CodingOptions,
  FileOptions,
  IndexOptions,
  IndexSearchOptions,
  InvertedSearchOptions,
  QuantizerOptions,
  QueryOptions,
  VectorSearchOptions,
} from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Fixtures } from './fixtures.ts'
import {
  type Argument,
  argument,
  type Call,
  ENDLESS,
  folder,
  HUGE,
  LARGE,
  missing,
  type OptionsOf,
  optional,
  options,
  saveOptions,
  WATCH,
} from './places.ts'

export function searchCalls(f: Fixtures): Readonly<Record<string, readonly Call[]>> {
  const { device, vectors, images, model, quantizer, codes } = f
  const coding = (): Argument => options<CodingOptions>({ device }, WATCH)
  const codeSearch: OptionsOf<CodeSearchOptions> = {
    ...WATCH,
    nearest: { place: 'whole', ...LARGE },
    distance: 'none',
  }
  const indexSearch: OptionsOf<IndexSearchOptions> = {
    ...codeSearch,
    rerank: 'vectors',
    candidates: 'none',
    within: { place: 'real', also: ['minus one', '-Infinity'] },
    where: { place: 'numbers', also: ['map'], ...ENDLESS },
  }
  const listSearch: OptionsOf<VectorSearchOptions> = {
    ...WATCH,
    nearest: codeSearch.nearest,
    probe: 'none',
    within: indexSearch.within,
    where: indexSearch.where,
  }
  const words = { ...WATCH, words: 'none', sigma: { place: 'real', not: ['zero', 'Infinity'] } } as const
  const query: OptionsOf<QueryOptions> = { ...words, top: { place: 'whole', also: ['Infinity'] } }
  const add = options<AddOptions>({ device }, { ...WATCH, ids: 'none' })
  const index = (): InstanceType<typeof library.CodeIndex> => new library.CodeIndex(quantizer, codes)
  const file = (): InstanceType<typeof library.InvertedFile> => new library.InvertedFile(model, quantizer)
  return {
    trainQuantizer: [quantizerCall(f, 'pq'), quantizerCall(f, 'ok')],
    loadQuantizer: [{ call: (path) => library.loadQuantizer(path), arguments: [missing] }],
    Quantizer: [
      { call: (v, o) => quantizer.encode(v, o), arguments: [argument('vectors', 'vectors', vectors), coding()] },
      { call: (v, o) => quantizer.predict(v, o), arguments: [argument('vectors', 'vectors', vectors), coding()] },
      { call: (v, o) => quantizer.distortionOf(v, o), arguments: [argument('vectors', 'vectors', vectors), coding()] },
      { call: (c, o) => quantizer.decode(c, o), arguments: [argument('codes', 'vectors', codes), coding()] },
      {
        call: (c, v, o) => quantizer.search(c, v, o),
        arguments: [
          argument('codes', 'vectors', codes),
          argument('queries', 'vectors', vectors),
          options<CodeSearchOptions>({ device }, codeSearch),
        ],
      },
      { call: (path, o) => quantizer.save(path, o), arguments: [folder, saveOptions] },
    ],
    buildIndex: [
      {
        call: (m, v, i, o) => library.buildIndex(m, v, i, o),
        arguments: [
          argument('model', 'none', model),
          argument('vectors', 'vectors', vectors),
          argument('images', 'none', images),
          options<IndexOptions>({ device }, { ...WATCH, ids: 'whole numbers' }),
        ],
      },
    ],
    loadIndex: [{ call: (path) => library.loadIndex(path), arguments: [missing] }],
    ImageIndex: imageIndexCalls(f, query),
    VectorLists: vectorListsCalls(f, listSearch),
    CodeIndex: [
      {
        call: (v, o) => library.CodeIndex.train(v, o),
        arguments: [argument('vectors', 'vectors', vectors), argument('options', 'none', { type: 'ok', m: 2, device })],
      },
      {
        call: (q, c, i, o) => new library.CodeIndex(q, c, i, o),
        arguments: [
          argument('quantizer', 'none', quantizer),
          argument('codes', 'vectors', codes),
          argument(
            'ids',
            'none',
            images.map((_, i) => i),
            { also: optional },
          ),
          options<CodeIndexOptions>({}, { metric: 'none' }),
        ],
      },
      {
        call: (v, o) => new library.CodeIndex(quantizer).add(v, o),
        arguments: [argument('vectors', 'vectors', vectors), add],
      },
      { call: (ids) => index().remove(ids), arguments: [argument('ids', 'numbers', [1], { also: ['map'] })] },
      {
        call: (v, o) => index().search(v, o),
        arguments: [
          argument('queries', 'vectors', vectors),
          options<IndexSearchOptions>({ device, nearest: 2 }, indexSearch),
        ],
      },
      { call: (path) => index().save(path), arguments: [folder] },
      { call: (path) => library.CodeIndex.load(path), arguments: [missing] },
    ],
    InvertedFile: [
      {
        call: (v, m, o) => library.InvertedFile.train(v, m, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('model', 'none', model),
          argument('options', 'none', { type: 'ok', m: 2, device }),
        ],
      },
      {
        call: (m, q, c) => new library.InvertedFile(m, q, c),
        arguments: [
          argument('model', 'none', model),
          argument('quantizer', 'none', quantizer),
          argument('content', 'none', undefined, { also: optional }),
        ],
      },
      { call: (v, o) => file().add(v, o), arguments: [argument('vectors', 'vectors', vectors), add] },
      {
        call: (ids) => file().remove(ids),
        arguments: [argument('ids', 'numbers', [1], { also: ['map'], ...ENDLESS })],
      },
      {
        call: (v, o) => file().search(v, o),
        arguments: [
          argument('queries', 'vectors', vectors),
          options<InvertedSearchOptions>({ device, nearest: 2 }, { ...indexSearch, probe: 'none' }),
        ],
      },
      { call: () => file().close(), arguments: [] },
      { call: (path) => file().save(path), arguments: [folder] },
      { call: (path) => library.InvertedFile.load(path), arguments: [missing] },
    ],
  }
}

function vectorListsCalls({ device, vectors, model }: Fixtures, search: OptionsOf<VectorSearchOptions>): Call[] {
  const made = (): InstanceType<typeof library.VectorLists> => new library.VectorLists(model)
  return [
    {
      call: (m, o) => new library.VectorLists(m, o),
      arguments: [
        argument('model', 'none', model),
        options<Pick<FileOptions, 'metric'>>({ metric: 'euclidean' }, { metric: 'none' }),
      ],
    },
    {
      call: (v, o) => made().add(v, o),
      arguments: [
        argument('vectors', 'vectors', vectors),
        options<AddVectorsOptions>({ device }, { ...WATCH, ids: 'none' }),
      ],
    },
    { call: (ids) => made().remove(ids), arguments: [argument('ids', 'numbers', [1], { also: ['map'], ...ENDLESS })] },
    {
      call: (v, o) => made().search(v, o),
      arguments: [
        argument('queries', 'vectors', vectors),
        options<VectorSearchOptions>({ device, nearest: 2 }, search),
      ],
    },
    { call: () => made().close(), arguments: [] },
    { call: (path) => made().save(path), arguments: [folder] },
    { call: (path) => library.VectorLists.load(path), arguments: [missing] },
  ]
}

function imageIndexCalls({ device, vectors, images, model }: Fixtures, query: OptionsOf<QueryOptions>): Call[] {
  const made = (): InstanceType<typeof library.ImageIndex> => new library.ImageIndex(model)
  const bag = { words: Uint32Array.of(0), counts: [1] }
  const filled = (): InstanceType<typeof library.ImageIndex> => new library.ImageIndex(model, [[1, bag]])
  return [
    {
      call: (m, bags) => new library.ImageIndex(m, bags),
      arguments: [
        argument('model', 'none', model),
        argument('bags', 'whole numbers', [[1, bag]], { also: ['undefined', 'map'] }),
      ],
    },
    {
      call: (id, w, c) => new library.ImageIndex(model, [[id, { words: w, counts: c }]]),
      arguments: [
        argument('id', 'whole or zero', 1, HUGE),
        argument('words', 'none', bag.words),
        argument('counts', 'none', bag.counts),
      ],
    },
    { call: (id) => filled().has(id), arguments: [argument('id', 'whole or zero', 1, HUGE)] },
    { call: (id) => filled().bag(id), arguments: [argument('id', 'none', 1)] },
    { call: (id) => filled().remove(id), arguments: [argument('id', 'whole numbers', 1)] },
    {
      call: (v, i, o) => made().add(v, i, o),
      arguments: [
        argument('vectors', 'vectors', vectors),
        argument('images', 'none', images),
        options<IndexOptions>(
          { device },
          { device: 'device', signal: 'signal', onProgress: 'callback', ids: 'whole numbers' },
        ),
      ],
    },
    {
      call: (v, o) => filled().search(v, o),
      arguments: [argument('vectors', 'vectors', vectors), options<QueryOptions>({ device }, query)],
    },
    {
      call: (v, i, o) => filled().searchAll(v, i, o),
      arguments: [
        argument('vectors', 'vectors', vectors),
        argument('images', 'none', images),
        options<QueryOptions & Pick<IndexOptions, 'ids'>>({ device }, { ...query, ids: 'whole numbers' }),
      ],
    },
    { call: (path) => filled().save(path), arguments: [argument('folder', 'path', 'folder')] },
  ]
}

function quantizerCall({ device, vectors }: Fixtures, type: 'pq' | 'ok'): Call {
  return {
    call: (v, o) => library.trainQuantizer(v, o),
    arguments: [
      argument('vectors', 'vectors', vectors),
      options<QuantizerOptions>(
        { type, m: 2, ...(type === 'pq' ? { codewords: 4 } : {}), device },
        {
          type: 'none',
          m: 'none',
          codewords: 'none',
          order: 'none',
          rank: 'none',
          iterations: 'none',
          tolerance: 'real',
          seed: 'whole or zero',
          sample: 'whole',
          on: 'none',
          device: 'device',
          signal: 'signal',
          onIteration: 'callback',
          onProgress: 'callback',
        },
        true,
      ),
    ],
  }
}
