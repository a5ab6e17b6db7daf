/** The lines that compute what is shown. */

import { CLOSURE_SETTING, GRID_SETTING, MOVE_SETTING } from './settings.ts'
import type { Step } from './steps.ts'

const { trees, leafSize, seed, k } = CLOSURE_SETTING

export const CODE: Readonly<Record<Step['topic'], string>> = {
  'Cluster closures': `import { cluster, partitionTrees } from 'centroidal'

const model = await cluster(points, {
  method: 'closures', k: ${k}, seed: ${seed}, trees: ${trees}, leafSize: ${leafSize}, neighborhoods: 'static',
  start: 'random', relocate: false, tolerance: 0, iterations: 200,
})
const leaves = await partitionTrees(points, { trees: ${trees}, leafSize: ${leafSize}, seed: ${seed} })
model.facts.iterations.at(-1).candidates // centres evaluated per point`,
  'k-means#': `import { cluster } from 'centroidal'

const options = { seed: ${MOVE_SETTING.seed}, relocate: false, tolerance: 0, iterations: 200 }
const lloyd = await cluster(points, { ...options, method: 'lloyd', k: ${MOVE_SETTING.k}, start: 'random' })
const sharp = await cluster(points, { ...options, method: 'sharp', k: ${MOVE_SETTING.k}, start: lloyd.centers, batch: 1 })
sharp.distortion < lloyd.distortion // true`,
  'Cartesian k-means': `import { trainQuantizer } from 'centroidal'

const quantizer = await trainQuantizer(points, {
  type: 'ck', m: ${GRID_SETTING.m}, codewords: ${GRID_SETTING.codewords}, seed: ${GRID_SETTING.seed}, tolerance: 0, iterations: 32,
})
const decoded = await quantizer.decode(await quantizer.encode(points))`,
}
