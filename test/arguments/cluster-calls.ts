/** Clustering by several methods, for the table of calls. */

import type { ClusterOptions } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Fixtures } from './fixtures.ts'
import { argument, type Call, type OptionsOf, options, type Place } from './places.ts'

/** What is asked for while another option is wrong; `auto` leaves the method and the number to the library. */
const ASKED = {
  lloyd: { method: 'lloyd', k: 3 },
  'closures-sharp': { method: 'closures-sharp', k: 3 },
  gmm: { method: 'gmm', k: 3 },
  agm: { method: 'agm' },
  overlap: { method: 'agm', criterion: 'overlap' },
  auto: { k: 'auto' },
} as const satisfies Record<string, ClusterOptions>

export function clusterCall({ device, vectors }: Fixtures, kind: keyof typeof ASKED): Call {
  const asked: ClusterOptions = ASKED[kind]
  const closures = kind === 'closures-sharp'
  const mixture = asked.k === 'auto' || asked.method === 'gmm' || asked.method === 'agm'
  const none = (name: string): [string, Place] => [name, 'none']
  const others = Object.fromEntries(
    [
      'leafSize', 'trees', 'neighborhoods', 'treesPerRound', 'treeThreshold', 'index', 'checks', 'precision', 'branching', 'keep',
      'reseed', 'probe', 'splitMethod', 'splitOrder', 'refine', 'nodeRounds', 'canopyRadius', 'batch', 'firstImprovement', 'nearest', 'rate',
      'criterion', 'prior', 'lambda', 'tau', 'memory', 'sigma', 'floor',
    ].map(none), // biome-ignore format: names only
  ) as OptionsOf<Required<library.MethodOptions>>
  return {
    call: (v, o) => library.cluster(v, o),
    arguments: [
      argument('vectors', 'vectors', vectors),
      options<ClusterOptions>(
        { ...asked, device },
        {
          ...others,
          ...(closures
            ? {
                leafSize: { place: 'none', also: ['zero'] },
                treesPerRound: 'none',
                treeThreshold: 'share',
                batch: { place: 'none', also: ['zero'] },
                firstImprovement: 'flag',
              }
            : {}),
          ...(asked.method === 'agm' ? { checks: { place: 'none', also: ['zero'] } } : {}),
          ...(kind === 'overlap' ? { lambda: 'share', tau: 'share' } : {}),
          ...(mixture
            ? {
                sigma: { place: 'real', not: ['Infinity', '1e300', '2^53 - 1'] },
                floor: { place: 'real', not: ['Infinity', '1e300', '2^53 - 1'] },
                prior: { place: 'real', not: ['Infinity', '1e300', '2^31', '2^53 - 1'] },
              }
            : {}),
          k: 'none',
          method: 'none',
          seed: 'whole or zero',
          iterations: 'none',
          tolerance: 'real',
          seconds: 'real',
          restarts: { place: 'none', skip: ['2^31', '2^53 - 1'] },
          start: 'none',
          metric: 'none',
          weights: 'none',
          empty: 'none',
          relocate: mixture ? { place: 'none', also: ['false'] } : 'flag',
          on: 'none',
          device: 'device',
          devices: 'none',
          shards: 'none',
          signal: 'signal',
          onIteration: 'callback',
          onProgress: 'callback',
          checkpoint: 'none',
          resume: 'none',
        },
        true,
      ),
    ],
  }
}
