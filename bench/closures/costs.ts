/** What a round costs as k grows, and what growing a tree costs. */
import { matrix, nearest, partitionTrees } from '../../src/index.ts'
import { printTable } from '../table.ts'
import { curve, type Setting } from './setting.ts'

/** The cost of a round does not grow with k. Sizes take turns, and the fastest round of each counts: the machine is shared. */
export async function secondsPerRound(setting: Setting): Promise<void> {
  const sizes = [1000, 2000, 4000, 8000, 16000].filter((k) => k <= setting.vectors.rows)
  const fastest = new Map<number, { seconds: number; looked: number }>()
  for (let turn = 0; turn < 3; turn++) {
    for (const k of sizes) {
      const steps = await curve(setting, { k, method: 'closures', neighborhoods: 'static', trees: 3, iterations: 8 })
      steps.slice(1).forEach((step, i) => {
        const seconds = step.seconds - steps[i].seconds
        const best = fastest.get(k)
        if (!best || seconds < best.seconds) fastest.set(k, { seconds, looked: step.candidates })
      })
    }
  }
  const rows = Array.from(fastest, ([k, { seconds, looked }]) => ({
    k,
    'seconds a round': seconds,
    'centres looked at': looked,
  }))
  const times = rows.map((entry) => entry['seconds a round'])
  printTable('Seconds a round of closures, 3 trees', rows)
  const ratio = Math.max(...times) / Math.min(...times)
  console.log(`largest over smallest: ${ratio.toFixed(2)}`)
  setting.results.flat = { rows, ratio }
}

export async function treeAgainstAssignment({ vectors, device, results }: Setting): Promise<void> {
  const centers = matrix(Float32Array.from(vectors.data.subarray(0, 10_000 * vectors.cols)), 10_000, vectors.cols)
  await partitionTrees(vectors, { device })
  const grown = await partitionTrees(vectors, { trees: 5, device })
  const began = performance.now()
  await nearest(vectors, centers, { device })
  const assignment = (performance.now() - began) / 1000
  const tree = grown.map(({ seconds }) => seconds).sort((a, b) => a - b)[2]
  const entry = {
    'one tree, seconds': tree,
    'exact assignment at k = 10,000, seconds': assignment,
    'tree over assignment': tree / assignment,
  }
  printTable('Growing a tree to leaves of 10', [entry])
  results.trees = entry
}
