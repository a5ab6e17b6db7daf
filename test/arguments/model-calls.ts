/** What models do with vectors, for the table of calls. */

import type { FaissOptions, PredictOptions, SummaryOptions, WorkOptions } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Fixtures } from './fixtures.ts'
import { argument, type Call, folder, missing, optional, options, saveOptions, WATCH } from './places.ts'

export function modelCalls({ device, vectors, model, mixture }: Fixtures): Readonly<Record<string, readonly Call[]>> {
  const predict = options<PredictOptions>({ device }, { ...WATCH, descend: 'flag' })
  const work = options<WorkOptions>({ device }, WATCH)
  return {
    faissBytes: [
      {
        call: (v, o) => library.faissBytes(v, o),
        arguments: [argument('vectors', 'none', vectors), options<FaissOptions>({}, { metric: 'none' })],
      },
    ],
    readFaiss: [{ call: (path) => library.readFaiss(path), arguments: [missing] }],
    normalize: [{ call: (v) => library.normalize(v), arguments: [argument('vectors', 'vectors', vectors)] }],
    vectorsOf: [
      {
        call: (objects, pick, name) => library.vectorsOf(objects, pick, name),
        arguments: [
          argument('objects', 'none', [{ a: [1] }]),
          argument('pick', 'none', (object?: { a: number[] } | null) => object?.a),
          argument('name', 'none', () => 'x', { also: [...optional, 'function'] }),
        ],
      },
    ],
    toArrays: [{ call: (v) => library.toArrays(v), arguments: [argument('vectors', 'none', vectors)] }],
    ClusterModel: [
      { call: (v, o) => model.predict(v, o), arguments: [argument('vectors', 'vectors', vectors), predict] },
      { call: (v, o) => model.assign(v, o), arguments: [argument('vectors', 'vectors', vectors), predict] },
      {
        call: (v, r, o) => mixture.responsibilities(v, r, o),
        arguments: [argument('vectors', 'vectors', vectors), argument('r', 'none', 2), predict],
      },
      { call: (v, o) => model.transform(v, o), arguments: [argument('vectors', 'vectors', vectors), work] },
      { call: (v, o) => model.update(v, o), arguments: [argument('vectors', 'vectors', vectors), work] },
      {
        call: (v, o) => model.summaries(v, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          options<SummaryOptions>({ device }, { ...WATCH, count: 'whole or zero', names: 'none' }),
        ],
      },
      {
        call: (v, count, o) => model.nearestMembers(v, count, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('count', 'whole or zero', 2, { also: optional }),
          work,
        ],
      },
      { call: (path, o) => model.save(path, o), arguments: [folder, saveOptions] },
    ],
  }
}
