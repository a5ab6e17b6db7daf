/** Shards and several machines, for the table of calls. */
import * as library from '../../src/index.ts'
import { argument, type Call, missing } from './places.ts'
import { TAKEN } from './values.ts'

export const machineCalls: Record<string, readonly Call[]> = {
  // Calls that reach a store are in test/distributed.
  connect: [{ call: (url) => library.connect(url), arguments: [argument('folder', 'none', 'redis:')] }],
  work: [{ call: (url) => library.work(url), arguments: [argument('folder', 'none', 'redis:')] }],
  openShards: [{ call: (path) => library.openShards(path), arguments: [missing] }],
  writeShards: [
    {
      call: (path, files) => library.writeShards(path, files),
      arguments: [
        argument('folder', 'none', 'shards.json', { skip: TAKEN.path }),
        argument('files', 'none', ['x.npy']),
      ],
    },
  ],
  sampleRows: [
    {
      call: (rows, count, seed) => library.sampleRows(rows, count, seed),
      arguments: [
        argument('rows', 'whole', 9, { skip: ['2^31'], not: ['2^53 - 1'] }),
        argument('count', 'whole', 3),
        argument('seed', 'whole or zero', 1),
      ],
    },
  ],
}
