/**
 * What is refused, each time with one clear sentence: data that is missing or differs, other versions, messages that nobody of
 * this version would send, files outside the data of a worker, and a store that takes no writes. On a real PostgreSQL.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startPostgres, type TestStore } from '../../bench/distributed/postgres-server.ts'
import { redisProgram, startRedis } from '../../bench/distributed/redis-server.ts'
import { encode } from '../../src/distributed/codec.ts'
import { type Connection, connectStore } from '../../src/distributed/connect.ts'
import { PROTOCOL } from '../../src/distributed/messages.ts'
import { answersOf, LEASES } from '../../src/distributed/queue-names.ts'
import { VERSION } from '../../src/distributed/version.ts'
import {
  type ClusterModel,
  type ClusterOptions,
  cluster,
  connect,
  type Device,
  openDevice,
  openShards,
  type ShardedVectors,
  type WorkerOptions,
  work,
} from '../../src/index.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'
import { type TestData, TestWorker, writeData } from './processes.ts'

const LOCK = 2
const OPTIONS: ClusterOptions = { k: 8, method: 'lloyd', seed: 1, iterations: 4, tolerance: 0, relocate: false }

let store: TestStore
let data: TestData
let source: ShardedVectors
let device: Device
let direct: Connection
let stop: AbortController
let said: string[]
let working: Promise<void>[]

beforeAll(async () => {
  store = await startPostgres()
  data = await writeData(300, 8)
  source = await openShards(data.manifest)
  device = await openDevice({ kind: 'cpu', threads: 1 })
  direct = await connectStore(store.url, {})
})
afterAll(async () => {
  await source.close?.()
  await device.close()
  await direct.close()
  await store.stop()
  data.remove()
})
beforeEach(() => {
  stop = new AbortController()
  said = []
  working = []
})
afterEach(async () => {
  stop.abort()
  await Promise.all(working)
})

async function addWorker(folder: string, more: WorkerOptions = {}): Promise<void> {
  const onEvent = (text: string): void => void said.push(text)
  const own = { data: [folder], device: { kind: 'cpu', threads: 1 }, name: folder, lock: LOCK } as const
  working.push(work(store.url, { ...own, ...more, signal: stop.signal, onEvent }))
  await until(() => said.some((text) => text.startsWith(`ready: ${folder}`)))
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

async function run(options: Partial<ClusterOptions> = {}): Promise<ClusterModel> {
  const on = await connect(store.url, { lock: LOCK })
  try {
    return await cluster(source, { ...OPTIONS, ...options, device, on })
  } finally {
    await on.close()
  }
}

describe('data', () => {
  test('that differs from the manifest is refused by its worker, and others take the shards', async () => {
    const folder = join(data.folder, 'other')
    mkdirSync(folder)
    for (let i = 0; i < 4; i++) cpSync(join(data.folder, `part-${i}.npy`), join(folder, `part-${i}.npy`))
    const bytes = readFileSync(join(folder, 'part-1.npy'))
    bytes[bytes.length - 5] ^= 1
    writeFileSync(join(folder, 'part-1.npy'), bytes)
    rmSync(join(folder, 'part-2.npy'))
    await addWorker(folder)
    await addWorker(data.folder)
    expect(bitsOf(await run())).toEqual(bitsOf(await cluster(source, { ...OPTIONS, device })))
  })

  test('that no worker has ends the run with its reason', async () => {
    const folder = join(data.folder, 'empty')
    mkdirSync(folder)
    await addWorker(folder)
    await expect(run()).rejects.toThrow(/Worker .*part-0\.npy" is not in .*: give the folder that contains the shards/)
    expect((await direct.store.runs()).length).toBe(0)
  })
})

describe('messages', () => {
  let offers = 0
  const describeRun = (file: string): object => ({
    kind: 'rows',
    cols: 8,
    rows: 1,
    type: 'f32',
    shards: [{ file, first: 0, rows: 1, checksum: '0'.repeat(32), largest: 1 }],
    groups: [[0]],
    wanted: Uint32Array.of(0),
  })
  /** What the worker reports about a lease. */
  const offer = async (description: unknown, changes: object = {}): Promise<{ kind: string; error?: string }> => {
    const RUN = `0123456789abcde${offers++}`
    const bytes = encode(description)
    await direct.store.put(RUN, 'run', bytes)
    await direct.store.touch(RUN, [answersOf(RUN)])
    const place = { key: 'run', bytes: bytes.length }
    const lease = {
      protocol: PROTOCOL,
      version: VERSION,
      run: RUN,
      group: 0,
      groups: 1,
      description: place,
      purpose: 'job',
    }
    try {
      return await new Promise((resolve) => {
        const receiver = direct.queues.receive(answersOf(RUN), async (report) => {
          resolve(report as { kind: string })
          receiver.close().catch(() => {})
        })
        direct.queues.send(LEASES, { ...lease, ...changes }, `${RUN}-0`).catch(() => {})
      })
    } finally {
      await direct.queues.withdraw(LEASES, [`${RUN}-0`])
      await direct.queues.remove(answersOf(RUN))
      await direct.store.forget(RUN)
    }
  }

  test('about files outside the data of a worker are refused, also through a link', async () => {
    const folder = join(data.folder, 'confined')
    mkdirSync(folder)
    symlinkSync('/etc/hostname', join(folder, 'link.npy'))
    symlinkSync('/etc', join(folder, 'folder'))
    await addWorker(folder)
    for (const [file, why] of [
      ['../part-0.npy', /a path below the folder/],
      ['/etc/passwd', /a path below the folder/],
      ['link.npy', /move the shards there/],
      ['inner/../../part-0.npy', /a path below the folder/],
      ['inner\\..\\part-0.npy', /A message in the store is invalid/],
      ['file:///etc/passwd', /a path below the folder/],
      ['folder/hostname', /move the shards there/],
      ['s3://bucket/key.npy', /move the shards there/],
    ] as const) {
      const report = await offer(describeRun(file))
      expect([report.kind, report.error], file).toEqual(['refused', expect.stringMatching(why)])
    }
  })

  test('with fields named like those of a prototype change no prototype', async () => {
    await addWorker(data.folder)
    const polluted = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as object
    const report = await offer({ ...describeRun('part-0.npy'), ...polluted, kind: 'nothing' })
    expect(report.kind).toBe('refused')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('of another version, or that are made up, are refused', async () => {
    await addWorker(data.folder)
    const report = await offer(describeRun('part-0.npy'), { version: '9.9.9' })
    expect(report.error).toMatch(/the coordinator runs centroidal "9\.9\.9" and this worker/)
    await direct.queues.send(LEASES, { run: 'x', code: 'process.exit()' }, 'made-up')
    await until(() => said.some((text) => text.startsWith('ignored a job: A message in the store is invalid')))
  })
})

describe('a run whose coordinator is gone', () => {
  test('is removed by workers after some time, with its blobs, queues and leases', async () => {
    const run = 'feedfeedfeedfeed'
    await direct.store.put(run, 'run', encode({ nothing: true }))
    await direct.store.touch(run, [answersOf(run)])
    await direct.queues.send(answersOf(run), { left: true })
    await addWorker(data.folder, { expire: 1 })
    await until(() => said.some((text) => text.startsWith(`removed run ${run}: nobody has asked for it for`)))
    const exists = async (): Promise<boolean> => (await direct.store.runs()).some((each) => each.run === run)
    while (await exists()) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await direct.store.get(run, 'run', encode({ nothing: true }).length)).toBeUndefined()
  })
})

describe('a store', () => {
  const settings = async (readOnly: boolean): Promise<void> => {
    const client = new pg.Client(store.url)
    await client.connect()
    await client.query('set default_transaction_read_only = off')
    await client.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }

  test('that refuses writes ends the run with a sentence, and the run can be resumed', async () => {
    await addWorker(data.folder)
    const options = { ...OPTIONS, iterations: 8 }
    const kept: ClusterModel[] = []
    const checkpoint = { every: 1, save: (model: ClusterModel) => void kept.push(model) }
    const onIteration = ({ iteration }: { iteration: number }): void => {
      if (iteration === 3) settings(true).catch(() => {})
    }
    await expect(run({ ...options, iterations: 1000, checkpoint, onIteration })).rejects.toThrow(
      /The store postgres:.* reported an error: cannot execute .* in a read-only transaction/,
    )
    await settings(false)
    await addWorker(data.folder)
    const resumed = await run({ ...options, resume: kept[2] })
    expect(bitsOf(resumed)).toEqual(bitsOf(await cluster(source, { ...options, device })))
  })

  test('that is not there is told within seconds, and an address that is none at once', async () => {
    await expect(connect('postgres://127.0.0.1:1/x', { wait: 0.5 })).rejects.toThrow(
      /The store postgres:.* cannot be reached/,
    )
    await expect(connect('http://user:secret@host')).rejects.toThrow(/give redis:/)
    await expect(connect('redis//user:secret@host')).rejects.not.toThrow(/secret/)
  })
})

// REDIS_URL may be a server of others.
describe.runIf(redisProgram() !== undefined)('a Redis', () => {
  test('without memory left ends the run with a sentence, and the run can be resumed', {
    timeout: 60_000,
  }, async () => {
    const redis = await startRedis('--maxmemory-policy', 'noeviction')
    const client = new Redis(redis.url)
    const leaving = new AbortController()
    const own = {
      data: [data.folder],
      device: { kind: 'cpu', threads: 1 },
      lock: LOCK,
      signal: leaving.signal,
    } as const
    const worker = work(redis.url, own)
    try {
      const kept: ClusterModel[] = []
      const attempt = async (options: Partial<ClusterOptions>): Promise<ClusterModel> => {
        const on = await connect(redis.url, { lock: LOCK })
        try {
          return await cluster(source, { ...OPTIONS, ...options, device, on })
        } finally {
          await on.close()
        }
      }
      const limited = attempt({
        iterations: 1000,
        checkpoint: { every: 1, save: (model) => void kept.push(model) },
        onIteration: ({ iteration }) => {
          if (iteration === 2) client.config('SET', 'maxmemory', '1').catch(() => {})
        },
      })
      await expect(limited).rejects.toThrow(/The store redis:.* reported an error: .*OOM command not allowed/)
      await client.config('SET', 'maxmemory', '0')
      const resumed = await attempt({ iterations: 6, resume: kept[1] })
      expect(bitsOf(resumed)).toEqual(bitsOf(await cluster(source, { ...OPTIONS, iterations: 6, device })))
    } finally {
      leaving.abort()
      await worker
      client.disconnect()
      await redis.stop()
    }
  })
})

const LOST: { name: string; start: () => Promise<TestStore> }[] = [{ name: 'PostgreSQL', start: startPostgres }]
if (redisProgram() !== undefined) LOST.push({ name: 'Redis', start: () => startRedis() })

describe.concurrent.each(LOST)('a $name', ({ start }) => {
  const title = 'that goes away in mid-run and stays away ends the run and its workers, each with a sentence'
  test(title, { timeout: 60_000 }, async () => {
    const lost = await start()
    const own = await openDevice({ kind: 'cpu', threads: 1 })
    const worker = new TestWorker(lost.url, data.folder, 'lonely', 1, '--wait', '1')
    try {
      await worker.says(/ready/)
      // Signs of life are given every second then.
      const on = await connect(lost.url, { lock: 1, wait: 1, expire: 4 })
      let stopped: Promise<void> | undefined
      const running = cluster(source, {
        ...OPTIONS,
        k: 100,
        iterations: 1000,
        device: own,
        on,
        onIteration: ({ iteration }) => {
          if (iteration === 2) stopped = lost.stop()
        },
      })
      await expect(running).rejects.toThrow(
        /The store .*127\.0\.0\.1.* cannot be reached \(.*\): check its address, and that it is running/,
      )
      await on.close()
      await stopped
      expect(await worker.ended).toBe(2)
      expect(worker.said).toMatch(/The store .*127\.0\.0\.1.* cannot be reached/)
      expect(worker.said).toMatch(/Trying again for 1 seconds/)
    } finally {
      await worker.end()
      await own.close()
      await lost.stop()
    }
  })
})
