/** Known classes against clusters, as a heat map. */

import { percent } from '../../format.ts'
import type { Confusion } from '../../truth.ts'
import type { Markup } from '../markup.ts'
import { FEW } from './axes.ts'
import { ACCENT, type Drawing, WIDTH } from './drawing.ts'

/** Clusters in the heat map; more would be thinner than a pixel. */
const HEAT_MAP_CLUSTERS = 100
/** Classes whose names fit beside the heat map. */
const NAMED_CLASSES = 40
/** Paler colours are not visible. */
const FAINT = 0.005

export function classChart(
  drawing: Drawing,
  confusion: Confusion,
  sizes: Uint32Array,
): { readonly picture: Markup; readonly clusters: number } {
  const order = heatMapOrder(confusion, sizes)
  return { picture: heatMap(drawing, confusion, order), clusters: order.length }
}

/** The largest clusters, those of one class side by side, the purest of them first: a good clustering shows steps. */
function heatMapOrder({ majority }: Confusion, sizes: Uint32Array): number[] {
  return Array.from(sizes.keys())
    .filter((cluster) => sizes[cluster] > 0)
    .sort((a, b) => sizes[b] - sizes[a])
    .slice(0, HEAT_MAP_CLUSTERS)
    .sort((a, b) => majority[a].index - majority[b].index || majority[b].share - majority[a].share)
}

function heatMap({ Plot, draw }: Drawing, { classes, counts }: Confusion, order: readonly number[]): Markup {
  const cells = order.flatMap((cluster, at) => {
    const row = counts.subarray(cluster * classes.length, (cluster + 1) * classes.length)
    const total = row.reduce((sum, points) => sum + points, 0)
    return Array.from(row, (points, index) => ({ cluster, at, name: classes[index], share: points / total }))
  })
  const spacing = Math.ceil(classes.length / NAMED_CLASSES)
  const inset = order.length <= FEW * 2 ? 0.5 : 0
  return draw('Heat map: share of each class in each cluster', {
    width: 2 * WIDTH + 32,
    height: Math.min(640, 24 + 22 * classes.length),
    marginLeft: 60,
    marginBottom: 8,
    x: { label: null, domain: [0, order.length], ticks: 0 },
    y: {
      label: 'class',
      type: 'band',
      domain: classes,
      tickSize: 0,
      padding: 0.06,
      ticks: classes.filter((_, i) => i % spacing === 0),
    },
    opacity: { domain: [0, 1], range: [0, 1] },
    marks: [
      Plot.barX(
        cells.filter(({ share }) => share >= FAINT),
        {
          x1: 'at',
          x2: ({ at }: { at: number }) => at + 1,
          y: 'name',
          fill: ACCENT,
          fillOpacity: 'share',
          insetLeft: inset,
          insetRight: inset,
          title: ({ cluster, name, share }: (typeof cells)[number]) =>
            `cluster ${cluster}, class ${name}: ${percent(share)}`,
        },
      ),
    ],
  })
}
