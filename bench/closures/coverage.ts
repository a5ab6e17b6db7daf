/**
 * How many of the points that change their cluster in a round of Lloyd would find the new one among
 * the labels of their neighbours, as trees are added (figure 3 of the closures paper).
 */
import { cluster, clusterSteps, type Device, type Matrix, partitionTrees } from '../../src/index.ts'
import { writePlot } from '../curves.ts'
import { printTable } from '../table.ts'
import type { Setting } from './setting.ts'

interface Covered {
  readonly trees: number
  /** Mean number of different neighbours of a point. */
  readonly size: number
  readonly share: number
}

async function coverageCurve(
  vectors: Matrix,
  device: Device,
  { k, rounds, trees }: { k: number; rounds: number; trees: number },
): Promise<Covered[]> {
  // Labels before and after one more exact round, from a state that closures reached.
  const start = await cluster(vectors, { k, method: 'closures', iterations: rounds, tolerance: 0, device, seed: 1 })
  const steps = clusterSteps(vectors, { k, method: 'lloyd', start: start.centers, iterations: 2, tolerance: 0, device })
  const labels: Uint32Array[] = []
  for (let next = await steps.next(); !next.done; next = await steps.next()) labels.push(await next.value.labels())
  const [before, after] = labels
  const active: number[] = []
  for (let i = 0; i < before.length; i++) if (before[i] !== after[i]) active.push(i)
  const grown = await partitionTrees(vectors, { trees, leafSize: 10, seed: 9, device })
  const neighbours = active.map(() => new Set<number>())
  const covered = new Uint8Array(active.length)
  const curve: Covered[] = []
  grown.forEach(({ members, offsets }, t) => {
    const leafOf = new Uint32Array(members.length)
    for (let leaf = 0; leaf + 1 < offsets.length; leaf++) {
      for (let at = offsets[leaf]; at < offsets[leaf + 1]; at++) leafOf[members[at]] = leaf
    }
    let found = 0
    let size = 0
    active.forEach((point, a) => {
      const leaf = leafOf[point]
      for (let at = offsets[leaf]; at < offsets[leaf + 1]; at++) {
        neighbours[a].add(members[at])
        if (before[members[at]] === after[point]) covered[a] = 1
      }
      found += covered[a]
      size += neighbours[a].size
    })
    curve.push({ trees: t + 1, size: size / active.length, share: found / active.length })
  })
  return curve
}

export async function coverage({ vectors, device, results }: Setting): Promise<void> {
  const curveOf = await coverageCurve(vectors, device, { k: 2000, rounds: 3, trees: 12 })
  printTable(
    'Share of active points whose new cluster is among the neighbours',
    curveOf.map(({ trees, size, share }) => ({
      trees,
      'neighbourhood size': size,
      coverage: `${(share * 100).toFixed(1)} %`,
    })),
  )
  writePlot('closures-coverage', [{ name: 'coverage', points: curveOf.map(({ size, share }) => [size, share]) }], {
    title: 'k = 2,000',
    x: 'points in the neighbourhood',
    y: 'active points covered',
  })
  results.coverage = curveOf
}
