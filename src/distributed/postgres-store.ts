/** Blobs in PostgreSQL, in a schema of their own. */
import type { Pool, PoolClient } from 'pg'
import { optionalPackage } from '../data/optional-package.ts'
import { pause } from './pause.ts'
import { ANSWER_PATIENCE, type BlobStore, type Patience, PIECE_BYTES, patiently, piecesOf } from './store.ts'

/** BullMQ keeps a connection for each queue that is listened to. */
const MOST_CONNECTIONS = 24
/** Milliseconds after which a server that does not answer counts as away. */
const TIMES = { keepAlive: true, connectionTimeoutMillis: 10_000, query_timeout: ANSWER_PATIENCE }
/** Milliseconds in which connections are ended. */
const END_PATIENCE = 2000
/** Pieces that are read with one query. */
const AT_ONCE = 8
/**
 * Seconds for which a queue waits for the notification of a job. After an error BullMQ would wait for an hour, and there is
 * no notification of jobs that were released or whose worker died.
 */
const LONGEST_WAIT = 2
/** Of the advisory lock under which the schema is made. */
const LOCK = 0x63656e74

const TABLES = `
  create schema if not exists centroidal;
  create unlogged table if not exists centroidal.blobs (
    run text not null, key text not null, piece integer not null, bytes bytea not null,
    primary key (run, key, piece)
  );
  alter table centroidal.blobs alter column bytes set storage external;
  create table if not exists centroidal.runs (
    run text primary key, touched timestamptz not null, queues text[] not null default '{}'
  );
`

export async function openPostgres(url: string, connecting: Patience, working: Patience): Promise<BlobStore> {
  const { default: pg } = await optionalPackage<typeof import('pg')>('pg', 'A store in PostgreSQL', 'bullmq pg')
  const { createPostgresBackend, runMigrations } = await optionalPackage<typeof import('bullmq')>(
    'bullmq',
    'A store in PostgreSQL',
    'bullmq pg',
  )
  const common = { connectionString: url, ...TIMES, max: MOST_CONNECTIONS }
  // BullMQ loads pg itself only where there is `require`, so it gets pools, which have to name its schema.
  const queues = new pg.Pool({ ...common, options: '-c search_path=bullmq' })
  const pool: Pool = new pg.Pool({ ...common, max: 4 })
  for (const each of [queues, pool]) each.on('error', () => {})
  // Every queue listens.
  queues.setMaxListeners(0)
  const factory: typeof createPostgresBackend = (...given) =>
    Object.defineProperty(createPostgresBackend(...given), 'maximumBlockTimeout', { value: LONGEST_WAIT })
  const perform = <T>(work: () => Promise<T>): Promise<T> => patiently(working, work)
  const close = async (): Promise<void> => {
    const ending = Promise.allSettled([pool.end(), queues.end()])
    await Promise.race([ending, pause(END_PATIENCE)])
  }
  try {
    await patiently(connecting, () => withClient(pool, (client) => prepare(client, runMigrations)))
  } catch (error) {
    await close()
    throw error
  }
  return {
    kind: 'postgres',
    backend: { connection: queues as never, factory: factory as never },
    async put(run, key, bytes) {
      const text = `insert into centroidal.blobs (run, key, piece, bytes) values ($1, $2, $3, $4) on conflict do nothing`
      const count = piecesOf(bytes.length)
      for (let piece = 0; piece < count; piece++) {
        const own = bytes.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES)
        const value = Buffer.from(own.buffer, own.byteOffset, own.byteLength)
        await perform(() => pool.query({ name: 'put', text, values: [run, key, piece, value] }))
      }
    },
    async get(run, key, bytes) {
      const text = `select piece, bytes from centroidal.blobs where run = $1 and key = $2 and piece >= $3 and piece < $4`
      const out = new Uint8Array(bytes)
      const count = piecesOf(bytes)
      for (let first = 0; first < count; first += AT_ONCE) {
        const end = Math.min(count, first + AT_ONCE)
        const query = { name: 'get', text, values: [run, key, first, end] }
        const { rows } = await perform(() => pool.query<{ piece: number; bytes: Buffer }>(query))
        if (rows.length !== end - first) return undefined
        for (const row of rows) {
          const at = row.piece * PIECE_BYTES
          if (row.bytes.length !== Math.min(PIECE_BYTES, bytes - at)) return undefined
          out.set(row.bytes, at)
        }
      }
      return out
    },
    async remove(run, key) {
      await perform(() => pool.query(`delete from centroidal.blobs where run = $1 and key = $2`, [run, key]))
    },
    async touch(run, names) {
      const text = `insert into centroidal.runs as r (run, touched, queues) values ($1, now(), $2)
        on conflict (run) do update set touched = now(),
        queues = array(select distinct unnest(r.queues || excluded.queues))`
      await perform(() => pool.query(text, [run, names]))
    },
    async runs() {
      const text = `select run, extract(epoch from now() - touched)::float8 as idle, queues from centroidal.runs`
      return (await perform(() => pool.query<{ run: string; idle: number; queues: string[] }>(text))).rows
    },
    async forget(run) {
      await perform(() => pool.query(`delete from centroidal.blobs where run = $1`, [run]))
      await perform(() => pool.query(`delete from centroidal.runs where run = $1`, [run]))
    },
    close,
  }
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    return await work(client)
  } finally {
    client.release()
  }
}

/** Several workers may start at the same time. */
async function prepare(client: PoolClient, migrate: (client: never) => Promise<unknown>): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [LOCK])
  try {
    await client.query(TABLES)
    await migrate(client as never)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK])
  }
}
