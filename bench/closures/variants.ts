/** One method against itself with other settings: distortion against time. */
import type { MethodName } from '../../src/index.ts'
import type { Series } from '../curves.ts'
import { asSeries, curve, reportSeries, type Setting } from './setting.ts'

/** Figure 4. */
export async function adaptiveAgainstStatic(setting: Setting): Promise<void> {
  const adaptive = await curve(setting, { k: 2000, method: 'closures', iterations: 40 })
  const series: Series[] = [asSeries('adaptive', adaptive)]
  for (const trees of [1, 3, 10]) {
    const steps = await curve(setting, { k: 2000, method: 'closures', neighborhoods: 'static', trees, iterations: 25 })
    series.push(asSeries(`static ${trees}`, steps))
  }
  reportSeries(setting, 'adaptive', 'Adaptive and static neighbourhoods, k = 2,000', series)
}

/** Figure 11. */
export async function leafSizes(setting: Setting): Promise<void> {
  const series: Series[] = []
  for (const leafSize of [5, 10, 20, 40]) {
    const steps = await curve(setting, { k: 2000, method: 'closures', leafSize, iterations: 30 })
    series.push(asSeries(`leaf ${leafSize}`, steps))
  }
  reportSeries(setting, 'leaves', 'Leaf sizes, k = 2,000', series)
}

/** The robust paper's figure 3: each improvement in turn. */
export async function improvements(setting: Setting): Promise<void> {
  const base = { k: 2000, method: 'rakm' as MethodName, precision: 0.5, iterations: 15 }
  const none = { keep: false, reseed: false, probe: false }
  const series = [
    asSeries('akm', await curve(setting, { ...base, ...none })),
    asSeries('+ keep', await curve(setting, { ...base, ...none, keep: true })),
    asSeries('+ reseed', await curve(setting, { ...base, ...none, keep: true, reseed: true })),
    asSeries('+ probe', await curve(setting, { ...base, keep: true, reseed: true, probe: true })),
  ]
  reportSeries(setting, 'rakm', 'RAKM: improvements in turn, k = 2,000, precision 0.5', series)
}
