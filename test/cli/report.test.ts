/** report.html: all its parts, nothing from elsewhere. */
import { readFile } from 'node:fs/promises'
import { inflateSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { clusterPage } from '../../src/cli/report/cluster-page.ts'
import { clusterRun } from '../../src/cli/run-folder.ts'
import type { Confusion } from '../../src/cli/truth.ts'
import { type ClusterModel, loadModel, matrix } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()
let page = ''

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await runInside(
    ...['cluster', path('vectors.npy'), '-k', '9', '--truth', path('classes.npy'), '--image', '4x2'],
    ...['--title', 'Nine <heaps> & more', '--out', path('run'), '-q'],
  )
  page = await readFile(path('run/report.html'), 'utf8')
})

test('has a title, a summary, figures, charts, centres, classes and a table', () => {
  expect(page).toContain('<h1>Nine &#60;heaps&#62; &#38; more</h1>')
  expect(page).toMatch(/The 600 vectors of vectors\.npy, 8 numbers each, were put into\s+9 clusters in /)
  const headings = [...page.matchAll(/<h[23]>([^<]*)<\/h[23]>/g)].map((match) => match[1])
  expect(headings).toEqual([
    'Course of the run',
    'Distortion over rounds',
    'Distortion over time',
    'Points that moved',
    'Centres evaluated',
    'Clusters',
    'Cluster sizes',
    'Map of the centres',
    'Centres',
    'Clusters and classes',
    'Numbers',
    'How it was made',
  ])
  for (const figure of ['points', 'dimensions', 'clusters', 'distortion', 'NMI', 'purity']) {
    expect(page).toContain(`<dt>${figure}</dt>`)
  }
  expect(page.match(/<svg/g)).toHaveLength(7)
  expect(page.match(/<tr>/g)).toHaveLength(1 + 9)
})

test('loads nothing and runs nothing', () => {
  expect(page).not.toMatch(/<script|<link|<iframe|@import|url\(/i)
  for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/g))
    expect(address).toMatch(/^data:image\/png;base64,/)
  expect(page.replaceAll(/xmlns(:\w+)?="[^"]*"/g, '')).not.toMatch(/https?:/)
})

test('looks right in light and dark and on a phone, and can be heard', () => {
  expect(page).toContain('prefers-color-scheme: dark')
  expect(page).toContain('<meta name="viewport"')
  expect(page.match(/<svg[^>]*aria-label="[^"]+"/g)).toHaveLength(7)
  expect(page.match(/<img alt="Centre of cluster \d+: \d+ points?, \d+% of them class \d+"/g)).toHaveLength(9)
})

test('the pictures are the centres', async () => {
  const { centers } = await loadModel(path('run'))
  const values = Array.from(centers.data)
  const low = Math.min(0, ...values)
  const high = Math.max(0, ...values)
  const pictures = [...page.matchAll(/Centre of cluster (\d+):[^>]*base64,([^"]*)"/g)]
  for (const [, cluster, encoded] of pictures) {
    const center = values.slice(Number(cluster) * 8, Number(cluster) * 8 + 8)
    const grey = center.map((value) => Math.round(((value - low) / (high - low)) * 255))
    expect(decodeGrayPng(Buffer.from(encoded, 'base64'))).toEqual({ width: 4, height: 2, pixels: grey })
  }
  expect(pictures).toHaveLength(9)
})

/** Reads back what the report writes: 8-bit grey, rows as differences to the row above. */
function decodeGrayPng(png: Buffer): { width: number; height: number; pixels: number[] } {
  const width = png.readUInt32BE(16)
  const height = png.readUInt32BE(20)
  const data = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)))
  const pixels: number[] = []
  for (let y = 0; y < height; y++) {
    expect(data[y * (width + 1)]).toBe(2)
    for (let x = 0; x < width; x++)
      pixels.push((data[y * (width + 1) + 1 + x] + (pixels[(y - 1) * width + x] ?? 0)) & 255)
  }
  return { width, height, pixels }
}

describe('of many clusters', () => {
  test('stays below a megabyte', async () => {
    await writeNoise(path('noise.npy'), 2500, 400)
    await runInside(
      ...['cluster', path('noise.npy'), '-k', '1000', '--start', 'random', '--iterations', '1', '--image', '20x20'],
      ...['--out', path('many'), '-q'],
    )
    const many = await readFile(path('many/report.html'), 'utf8')
    expect(many.length).toBeLessThan(1_000_000)
    expect(many).toContain('smaller clusters left out to keep this page small')
    expect(many.match(/<tr>/g)).toHaveLength(1 + 1000)
  })
})

test('tells the method, its options and the centres that were evaluated', async () => {
  await writeNoise(path('noise.npy'), 3000, 16)
  const args = ['cluster', path('noise.npy'), '-k', '80', '--iterations', '8', '-q']
  await runInside(
    ...args,
    '--method',
    'closures',
    '--tree-threshold',
    '0.5',
    '--start',
    'random',
    '--out',
    path('closures'),
  )
  const closures = await readFile(path('closures/report.html'), 'utf8')
  expect(closures).toContain('<h3>Centres evaluated</h3>')
  expect(closures).toMatch(/<svg[^>]*aria-label="Line: centres evaluated per point in each round"/)
  expect(closures).toMatch(/it evaluated [\d.]+ of 80 centres per vector in the last round, [\d.]+ in the first/)
  expect(closures).toMatch(/Method closures \(.*tree-threshold 0\.5.*\), from random vectors\./)
  expect(page).toContain('Per point, the same in every round: all centres.')
  expect(closures).toContain('Per point; there are 80.')
  expect(page).toMatch(/Method lloyd \(chosen by auto: .*\), from centres chosen by greedy k-means\+\+/)
  expect(closures).toMatch(/<dt>centres evaluated<\/dt><dd>[\d.]+</)
  expect(page).not.toContain('<dt>centres evaluated')
})

describe('what a page claims', () => {
  const rounds = (moved: number[]) =>
    moved.map((count, i) => ({ iteration: i + 1, distortion: 1 / (i + 1), moved: count, candidates: 3, seconds: i }))

  async function pageOf(stopped: 'seconds' | 'tolerance', moved: number[]): Promise<string> {
    const { facts, ...model } = await loadModel(path('run'))
    const iterations = rounds(moved).map((round, i) => ({ ...facts.iterations[0], ...round, restart: 0, seconds: i }))
    const run = {
      ...clusterRun('run', { ...model, facts } as ClusterModel, {}),
      facts: { ...facts, stopped, iterations },
    }
    return clusterPage('Claims', { ...run, centers: matrix(new Float32Array(18), 9, 2) })
  }

  test('the same again, but not where the clock ended it', async () => {
    expect(await pageOf('tolerance', [9, 3])).toContain('bit for bit')
    const timed = await pageOf('seconds', [9, 3])
    expect(timed).not.toContain('bit for bit')
    expect(timed).toContain('may run more or fewer rounds')
  })

  test('that nothing moved in the last round only if it did not', async () => {
    expect(await pageOf('tolerance', [9, 0])).toContain('In the last round none did.')
    expect(await pageOf('tolerance', [9, 0, 4])).not.toContain('In the last round none did.')
  })

  test('names of classes are text, whatever a run folder says they are', async () => {
    const { facts, labels, sizes, centers } = await loadModel(path('run'))
    const evil = '<img src=x onerror=alert(1)>'
    const counts = Uint32Array.from({ length: 2 * facts.k }, () => 1)
    const majority = Array.from({ length: facts.k }, () => ({ index: 0, share: 0.5 }))
    const confusion = { classes: [evil, `"${evil}`], counts, majority } as unknown as Confusion
    const text = await clusterPage('Classes', {
      ...{ kind: 'clustering', name: 'run', facts, labels, sizes, centers, weights: undefined, sigmas: undefined },
      notes: { confusion },
    })
    expect(text).toContain('Clusters and classes')
    expect(text).not.toContain('<img')
  })
})
