/** Clustering by several methods, for the table of calls. */

import type { ClusterOptions } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Fixtures } from './fixtures.ts'
import { argument, type Call, type OptionsOf, options, type Place } from './places.ts'

export function clusterCall({ device, vectors }: Fixtures, method: 'lloyd' | 'closures-sharp' | 'gmm' | 'agm'): Call {
  const finds = method === 'agm'
  const closures = method === 'closures-sharp'
  const mixture = method === 'gmm' || finds
  const none = (name: string): [string, Place] => [name, 'none']
  const others = Object.fromEntries(
    [
      'leafSize', 'trees', 'neighborhoods', 'visits', 'growth', 'index', 'checks', 'precision', 'branching', 'keep',
      'reseed', 'probe', 'inner', 'queue', 'refine', 'nodeRounds', 'canopyRadius', 'batch', 'fast', 'nearest', 'rate',
      'lambda', 'tau', 'memory', 'sigma', 'floor',
    ].map(none), // biome-ignore format: names only
  ) as OptionsOf<Required<library.MethodOptions>>
  return {
    call: (v, o) => library.cluster(v, o),
    arguments: [
      argument('vectors', 'vectors', vectors),
      options<ClusterOptions>(
        { ...(finds ? {} : { k: 3 }), method, device },
        {
          ...others,
          ...(closures ? { leafSize: 'none', visits: 'none', growth: 'share', batch: 'none', fast: 'flag' } : {}),
          ...(finds ? { lambda: 'share', tau: 'share', checks: { place: 'none', also: ['zero'] } } : {}),
          ...(mixture
            ? {
                sigma: { place: 'real', not: ['Infinity', '1e300', '2^53 - 1'] },
                floor: { place: 'real', not: ['Infinity', '1e300', '2^53 - 1'] },
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
          device: 'device',
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
