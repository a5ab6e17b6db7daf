/** Sweeps over numbers of clusters, for the table of calls. */
import type { ScoreOptions, SweepOptions, SweepRange } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Fixtures } from './fixtures.ts'
import { argument, type Call, HUGE, options, WATCH } from './places.ts'

export function sweepCalls({ device, vectors, model }: Fixtures): Record<string, readonly Call[] | 'constant'> {
  return {
    SWEEP_DEFAULTS: 'constant',
    sweep: [
      {
        call: (v, o) => library.sweep(v, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          options<SweepOptions>(
            { k: [2, 3], seeds: 1, device },
            {
              ...{
                k: 'none',
                method: 'none',
                methodOptions: 'options',
                seed: { place: 'whole or zero', ...HUGE },
                metric: 'none',
              },
              ...{ seeds: 'none', keep: 'flag', ...WATCH, onStep: 'callback' },
            },
            true,
          ),
        ],
      },
      {
        call: (k) => library.sweep(vectors, { k, seeds: 1, device }),
        arguments: [options<SweepRange>({ from: 2, to: 3 }, { from: 'none', to: 'none', steps: 'none' }, true)],
      },
    ],
    sweepSteps: [
      {
        call: (v, o) => library.sweepSteps(v, o).next(),
        arguments: [argument('vectors', 'vectors', vectors), argument('options', 'none', { k: [2], seeds: 1, device })],
      },
    ],
    bic: [
      {
        call: (v, l, o) => library.bic(v, l, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('labels', 'none', model.labels),
          options<ScoreOptions>({}, { signal: 'signal', onProgress: 'callback' }),
        ],
      },
    ],
  }
}
