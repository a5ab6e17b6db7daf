/** Manifests of shards: what they list, what they refuse, and what may be opened because of them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { groupShards } from '../../src/distributed/connect.ts'
import { openRoots } from '../../src/distributed/data-roots.ts'
import { parseManifest } from '../../src/distributed/manifest.ts'
import { verifyShard } from '../../src/distributed/shard-source.ts'
import { blobs, cluster, matrix, openShards, readVectors, writeShards, writeVectors } from '../../src/index.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'

let folder: string
const path = (...names: string[]): string => join(folder, ...names)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'centroidal-manifest-'))
  mkdirSync(path('inner'))
  for (let i = 0; i < 3; i++) {
    await writeVectors(path('inner', `${i}.npy`), blobs({ rows: 50 + i, cols: 6, clusters: 4, seed: i }).vectors)
  }
  await writeVectors(
    path('bytes.bvecs'),
    matrix(
      Uint8Array.from({ length: 60 }, (_, i) => i * 4),
      10,
      6,
    ),
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const files = (): string[] => [0, 1, 2].map((i) => path('inner', `${i}.npy`))

describe('a manifest', () => {
  test('lists the rows of files as shards, and reads them as one source', async () => {
    const manifest = await writeShards(path('shards.json'), files(), { rows: 20 })
    expect(manifest.shards.map(({ file, first, rows }) => [file, first, rows])).toEqual([
      ['inner/0.npy', 0, 20],
      ['inner/0.npy', 20, 20],
      ['inner/0.npy', 40, 10],
      ['inner/1.npy', 0, 20],
      ['inner/1.npy', 20, 20],
      ['inner/1.npy', 40, 11],
      ['inner/2.npy', 0, 20],
      ['inner/2.npy', 20, 20],
      ['inner/2.npy', 40, 12],
    ])
    const source = await openShards(path('shards.json'))
    const all = (await Promise.all(files().map((file) => readVectors(file)))).flatMap(({ data }) => Array.from(data))
    expect(Array.from(await source.read(0, source.rows))).toEqual(all)
    for (const [start, end] of [
      [0, 1],
      [19, 21],
      [49, 52],
      [152, 153],
      [30, 120],
      [5, 5],
    ]) {
      expect(Array.from(await source.read(start, end))).toEqual(all.slice(start * 6, end * 6))
    }
    await source.close?.()
  })

  test('what it knows of the vectors is what reading them finds: the same run either way', async () => {
    const source = await openShards(path('shards.json'))
    const { known: _, ...unknown } = source
    for (const metric of ['euclidean', 'cosine'] as const) {
      const options = { k: 4, metric, seed: 2, device: 'cpu' } as const
      expect(bitsOf(await cluster(source, options))).toEqual(bitsOf(await cluster(unknown, options)))
    }
    await source.close?.()
  })

  test('rows of zeros are known', async () => {
    await writeVectors(path('zeros.npy'), matrix(Float32Array.of(1, 2, 0, 0, 3, 4, 0, 0), 4, 2))
    const { shards } = await writeShards(path('zeros.json'), [path('zeros.npy')], { rows: 3 })
    expect(shards.map(({ zeroRow }) => zeroRow)).toEqual([1, 0])
    const source = await openShards(path('zeros.json'))
    await expect(cluster(source, { k: 1, metric: 'cosine', device: 'cpu' })).rejects.toThrow('Row 1 of ')
    await source.close?.()
  })

  test('files of another shape or type are refused, and files outside its folder', async () => {
    await expect(writeShards(path('x.json'), [...files(), path('bytes.bvecs')])).rejects.toThrow(
      'all shards of a manifest must have the same columns and type',
    )
    await expect(writeShards(path('inner', 'x.json'), [path('bytes.bvecs')])).rejects.toThrow('it lies outside')
  })

  test('a file that changed since is noticed', async () => {
    const roots = await openRoots([folder])
    const manifest = await writeShards(path('bytes.json'), [path('bytes.bvecs')])
    await verifyShard(roots, manifest, manifest.shards[0])
    const bytes = readFileSync(path('bytes.bvecs'))
    bytes[35] ^= 1
    writeFileSync(path('bytes.bvecs'), bytes)
    await expect(verifyShard(roots, manifest, manifest.shards[0])).rejects.toThrow('differ from the manifest')
    await writeVectors(path('bytes.bvecs'), matrix(new Uint8Array(30), 5, 6))
    await expect(verifyShard(roots, manifest, manifest.shards[0])).rejects.toThrow('the manifest lists rows up to 10')
  })

  test.each([
    ['no JSON', 'is not a JSON file'],
    ['{}', 'format is undefined'],
    [manifestWith('../secret.npy'), 'a path below the folder of the manifest'],
    [manifestWith('/etc/passwd'), 'a path below the folder of the manifest'],
    [manifestWith('a/../../b.npy'), 'a path below the folder of the manifest'],
    [manifestWith('C:/x.npy'), 'a path below the folder of the manifest'],
    [manifestWith('http://host/x.npy'), 'a path below the folder of the manifest'],
    [manifestWith('a\\b.npy'), 'where a text like'],
    [manifestWith('a.npy', { rows: -1 }), 'rows is -1'],
    [manifestWith('a.npy', { checksum: 'x' }), 'checksum is "x"'],
    [manifestWith('a.npy', { extra: 1 }), 'unknown field "extra"'],
  ])('%s is refused', (text, why) => {
    const bytes = new TextEncoder().encode(text)
    expect(() => parseManifest(bytes, 'm.json')).toThrow(why)
    expect(() => parseManifest(bytes, 'm.json')).not.toThrow('save the folder')
  })
})

function manifestWith(file: string, changes: object = {}): string {
  const shard = { file, first: 0, rows: 1, checksum: '0'.repeat(32), largest: 1, ...changes }
  return JSON.stringify({ format: 'centroidal-shards', version: 1, type: 'f32', cols: 2, shards: [shard] })
}

describe('data roots', () => {
  test('files are opened below the roots only, also through links', async () => {
    mkdirSync(path('data'))
    await writeVectors(path('data', 'in.npy'), matrix(Float32Array.of(1, 2), 1, 2))
    symlinkSync(path('inner', '0.npy'), path('data', 'link.npy'))
    symlinkSync(path('inner'), path('data', 'linked'))
    symlinkSync(path('data', 'in.npy'), path('data', 'own-link.npy'))
    const roots = await openRoots([path('data')])
    for (const file of ['in.npy', 'own-link.npy']) await (await roots.open(file)).close?.()
    for (const file of ['link.npy', 'linked/0.npy', '../inner/0.npy', path('inner', '0.npy')]) {
      await expect(roots.open(file), file).rejects.toThrow('move the shards there')
      await expect(roots.beside(file, '.labels.npy'), file).rejects.toThrow('move the shards there')
    }
    await expect(roots.open('missing.npy')).rejects.toThrow('give the folder that contains the shards')
    await expect(roots.open('s3://bucket/key.npy')).rejects.toThrow('move the shards there')
    await expect(openRoots([path('bytes.bvecs')])).rejects.toThrow('is not a folder')
  })
})

test('groups have all shards in their order, and about as many rows as each other', () => {
  for (const [rows, most] of [
    [[5], 48],
    [[1, 0, 3], 48],
    [Array.from({ length: 500 }, (_, i) => 1 + (i % 7)), 48],
    [[1000, 1, 1, 1, 1], 2],
    [[0, 0], 1],
  ] as const) {
    const groups = groupShards(rows, most)
    expect(groups.flat()).toEqual(rows.map((_, i) => i))
    expect(groups.length).toBeLessThanOrEqual(most)
    expect(groups.every((group) => group.length > 0)).toBe(true)
  }
})
