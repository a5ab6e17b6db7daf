/** Blobs in Redis or Valkey. Keys expire, so that nothing stays even if no process is left to clean up. */
import type { Redis } from 'ioredis'
import { optionalPackage } from '../data/optional-package.ts'
import { pause } from './pause.ts'
import { ANSWER_PATIENCE, type BlobStore, type Patience, PIECE_BYTES, patiently, piecesOf } from './store.ts'

const RUNS = 'centroidal:runs'
/** Milliseconds. */
const QUIT_PATIENCE = 1000
const TIMED_OUT = /^Command timed out/
/** Pieces that are sent before an answer is waited for. */
const AT_ONCE = 8
const TIMES = {
  lazyConnect: true,
  connectTimeout: 10_000,
  commandTimeout: ANSWER_PATIENCE,
  // Commands fail after some attempts to connect.
  retryStrategy: (times: number) => Math.min(times * 50, 500),
}

export async function openRedis(
  url: string,
  expire: number,
  connecting: Patience,
  working: Patience,
): Promise<BlobStore> {
  const { Redis: Client } = await optionalPackage<typeof import('ioredis')>(
    'ioredis',
    'A store in Redis',
    'bullmq ioredis',
  )
  let lastError: Error | undefined
  const open = (retries: number | null): Redis => {
    const options = { maxRetriesPerRequest: retries, ...TIMES }
    const client = new Client(url, options)
    client.on('error', (error: Error) => {
      lastError = error
    })
    return client
  }
  // BullMQ requires that commands wait for a connection that comes back. Here they fail after a while, so that it is noticed.
  const redis = open(2)
  const queues = open(null)
  // BullMQ opens a connection for each queue that is listened to. None may stay when a store is away.
  const opened = new Set([redis, queues])
  const duplicate = queues.duplicate.bind(queues)
  queues.duplicate = (options) => {
    const client = duplicate(options)
    client.on('error', () => {})
    client.once('end', () => opened.delete(client))
    opened.add(client)
    return client
  }
  const close = (): void => {
    for (const client of opened) client.disconnect()
  }
  try {
    await patiently(connecting, async () => {
      // A client that has failed once tries again by itself, and says that it is connecting.
      if (redis.status !== 'ready') redis.disconnect()
      await redis.connect().catch((error: Error) => Promise.reject(lastError ?? error))
    })
    await queues.connect()
  } catch (error) {
    close()
    throw error
  }
  const pieceKey = (run: string, key: string, piece: number): string => `centroidal:{${run}}:${key}:${piece}`
  const listKey = (run: string): string => `centroidal:{${run}}:keys`
  const queuesKey = (run: string): string => `centroidal:{${run}}:queues`
  const perform = <T>(work: () => Promise<T>): Promise<T> =>
    patiently(working, () =>
      work().catch((error: Error) => {
        if (TIMED_OUT.test(error.message)) redis.disconnect(true)
        throw named(error, lastError)
      }),
    )
  return {
    kind: 'redis',
    backend: { connection: queues as never, factory: undefined },
    async put(run, key, bytes) {
      const count = piecesOf(bytes.length)
      for (let first = 0; first < count; first += AT_ONCE) {
        await perform(async () => {
          const pipeline = redis.pipeline()
          for (let piece = first; piece < Math.min(count, first + AT_ONCE); piece++) {
            const own = bytes.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES)
            const value = Buffer.from(own.buffer, own.byteOffset, own.byteLength)
            pipeline.set(pieceKey(run, key, piece), value, 'EX', expire)
          }
          if (first === 0) {
            pipeline.sadd(listKey(run), `${key} ${count}`)
            pipeline.expire(listKey(run), expire)
          }
          await all(pipeline.exec())
        })
      }
    },
    async get(run, key, bytes) {
      const count = piecesOf(bytes)
      const out = new Uint8Array(bytes)
      for (let first = 0; first < count; first += AT_ONCE) {
        const keys = Array.from({ length: Math.min(count - first, AT_ONCE) }, (_, i) => pieceKey(run, key, first + i))
        const found = await perform(() => redis.mgetBuffer(keys))
        for (const [i, piece] of found.entries()) {
          const at = (first + i) * PIECE_BYTES
          if (piece === null || piece.length !== Math.min(PIECE_BYTES, bytes - at)) return undefined
          out.set(piece, at)
        }
      }
      return out
    },
    async remove(run, key, bytes) {
      const count = piecesOf(bytes)
      const keys = Array.from({ length: count }, (_, piece) => pieceKey(run, key, piece))
      await perform(() => redis.unlink(...keys))
      await perform(() => redis.srem(listKey(run), `${key} ${count}`))
    },
    async touch(run, queues) {
      await perform(async () => {
        const pipeline = redis.pipeline()
        pipeline.zadd(RUNS, Date.now(), run)
        if (queues.length > 0) pipeline.sadd(queuesKey(run), ...queues)
        pipeline.expire(queuesKey(run), 10 * expire)
        pipeline.expire(listKey(run), expire)
        await all(pipeline.exec())
      })
    },
    async runs() {
      const entries = await perform(() => redis.zrange(RUNS, '0', '-1', 'WITHSCORES'))
      const runs: { run: string; idle: number; queues: string[] }[] = []
      for (let i = 0; i < entries.length; i += 2) {
        const idle = (Date.now() - Number(entries[i + 1])) / 1000
        runs.push({ run: entries[i], idle, queues: await perform(() => redis.smembers(queuesKey(entries[i]))) })
      }
      return runs
    },
    async forget(run) {
      const listed = await perform(() => redis.smembers(listKey(run)))
      for (const entry of listed) {
        const [key, count] = entry.split(' ')
        for (let first = 0; first < Number(count); first += 1000) {
          const end = Math.min(Number(count), first + 1000)
          const keys = Array.from({ length: end - first }, (_, i) => pieceKey(run, key, first + i))
          await perform(() => redis.unlink(...keys))
        }
      }
      await perform(() => redis.unlink(listKey(run), queuesKey(run)))
      await perform(() => redis.zrem(RUNS, run))
    },
    async close() {
      // A store that cannot be reached cannot be notified.
      const quitting = [redis, queues].filter(({ status }) => status === 'ready').map((client) => client.quit())
      await Promise.race([Promise.allSettled(quitting), pause(QUIT_PATIENCE)])
      close()
    },
  }
}

/** A command that was given up says how often it was tried; the reason is in the last error of the connection. */
function named(error: Error, last: Error | undefined): Error {
  return error.name === 'MaxRetriesPerRequestError' && last ? last : error
}

/** A pipeline answers with an error for each command that failed. */
async function all(answers: Promise<[Error | null, unknown][] | null>): Promise<void> {
  for (const [error] of (await answers) ?? []) if (error) throw error
}
