/** Shards in S3: a server from npm that speaks its protocol, with signed requests and ranged reads. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../bench/distributed/postgres-server.ts'
import { openRoots } from '../../src/distributed/data-roots.ts'
import { createObject, openObject } from '../../src/distributed/s3.ts'
import { blobs, cluster, openShards, readVectors, vectorBytes, writeShards } from '../../src/index.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'

let server: S3rver
let folder: string
const vectors = blobs({ rows: 400, cols: 5, clusters: 6, seed: 3 }).vectors

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'centroidal-s3-'))
  const port = await freePort()
  server = new S3rver({
    address: '127.0.0.1',
    port,
    silent: true,
    directory: join(folder, 'objects'),
    configureBuckets: [{ name: 'vectors', configs: [] }],
  })
  await server.run()
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${port}`)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  vi.stubEnv('AWS_REGION', 'us-east-1')
  await createObject('s3://vectors/a/part.npy', await vectorBytes('part.npy', vectors))
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

test('ranges of an object', async () => {
  const object = await openObject('s3://vectors/a/part.npy')
  const whole = await vectorBytes('part.npy', vectors)
  expect(object.size).toBe(whole.length)
  // The server takes bytes=0-0 for the whole object, so ranges begin with two bytes.
  for (const [start, end] of [
    [0, 2],
    [7, 300],
    [whole.length - 3, whole.length],
    [5, 5],
  ]) {
    expect(Array.from(await object.read(start, end))).toEqual(Array.from(whole.subarray(start, end)))
  }
  await expect(object.read(0, whole.length + 1)).rejects.toThrow(`ends at byte ${whole.length}`)
})

test('a manifest of objects: the run of the same vectors in files', async () => {
  const manifest = join(folder, 'shards.json')
  await writeShards(manifest, ['s3://vectors/a/part.npy'], { rows: 150 })
  const source = await openShards(manifest)
  const options = { k: 6, seed: 1, device: 'cpu' } as const
  const local = { ...vectorSource(), shards: source.shards }
  expect(bitsOf(await cluster(source, options))).toEqual(bitsOf(await cluster(local, options)))
  await source.close?.()
})

function vectorSource() {
  const { rows, cols, data } = vectors
  const read = async (start: number, end: number) => data.subarray(start * cols, end * cols)
  return { rows, cols, type: 'f32' as const, name: 'vectors', read }
}

test('a worker reads and writes below its own place only', async () => {
  const roots = await openRoots(['s3://vectors/a'])
  expect((await roots.open('part.npy')).rows).toBe(400)
  expect((await roots.open('s3://vectors/a/part.npy')).rows).toBe(400)
  await expect(roots.open('s3://vectors/b/part.npy')).rejects.toThrow('move the shards there')
  await expect(roots.open('s3://vectors/ab.npy')).rejects.toThrow('move the shards there')
  const beside = await roots.beside('part.npy', '.copy.npy')
  expect(beside).toBe('s3://vectors/a/part.copy.npy')
  await roots.write(beside, await vectorBytes('part.npy', vectors))
  expect((await roots.open('part.copy.npy')).rows).toBe(400)
})

test('an object that is missing, and an address that is none', async () => {
  await expect(openObject('s3://vectors/missing.npy')).rejects.toThrow(/cannot be read .*check the address/)
  await expect(openObject('s3://vectors')).rejects.toThrow('use the form s3://bucket/key')
  await expect(readVectors('s3.npy')).rejects.toThrow()
})
