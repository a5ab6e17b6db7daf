/**
 * Runs over real workers on the real engine: the result has the bits of a single process, whatever happens to the workers,
 * the coordinator and the store. PostgreSQL comes from npm; Redis takes part where it is installed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestStore } from '../../bench/distributed/postgres-server.ts'
import { hasRedis, startRedis } from '../../bench/distributed/redis-server.ts'
import { createRandom } from '../../src/core/random.ts'
import { connectStore } from '../../src/distributed/connect.ts'
import {
  type ClusterEvent,
  type ClusterModel,
  type ClusterOptions,
  type ConnectOptions,
  cluster,
  connect,
  type Device,
  openDevice,
  openShards,
  type RoundTraffic,
  type ShardedVectors,
} from '../../src/index.ts'
import { ending, runCli, startCli } from '../cli/run-cli.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'
import { savedBits, type TestData, TestWorker, writeData } from './processes.ts'

/** Moments at which workers are killed, for each method; more by CENTROIDAL_KILLS. */
const KILLS = Number(process.env.CENTROIDAL_KILLS ?? 3)
/** Seconds. Short, so that deaths are noticed soon. */
const LOCK = 0.8

const OPTIONS: ClusterOptions = { k: 25, method: 'lloyd', seed: 5, iterations: 12, tolerance: 0, relocate: false }

let data: TestData
let source: ShardedVectors
let device: Device
const alone = new Map<string, Promise<object>>()

/** The result of a single process over the same shards. */
function expected(options: ClusterOptions): Promise<object> {
  const key = JSON.stringify(options)
  const known = alone.get(key) ?? cluster(source, { ...options, device }).then(bitsOf)
  alone.set(key, known)
  return known
}

beforeAll(async () => {
  data = await writeData()
  source = await openShards(data.manifest)
  device = await openDevice({ kind: 'cpu', threads: 1 })
})

afterAll(async () => {
  await source.close?.()
  await device.close()
  data.remove()
})

const ENGINES: { name: string; start: () => Promise<TestStore> }[] = [{ name: 'PostgreSQL', start: startPostgres }]
if (hasRedis()) ENGINES.push({ name: 'Redis', start: () => startRedis() })

// Minutes where other work shares the machine; about half a minute otherwise.
describe.each(ENGINES)('$name', { timeout: 180_000 }, ({ start }) => {
  let store: TestStore
  let workers: TestWorker[] = []
  let number = 0

  const addWorker = async (folder = data.folder, ...more: string[]): Promise<TestWorker> => {
    const worker = new TestWorker(store.url, folder, `w${number++}`, LOCK, ...more)
    workers.push(worker)
    return worker.says(/ready/)
  }
  const removeWorkers = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.end()))
    workers = []
  }

  interface Happening {
    readonly events: ClusterEvent[]
    readonly traffic: RoundTraffic[]
    readonly model: ClusterModel
  }
  /** `disturb` is called after each round. */
  const run = async (
    options: ClusterOptions,
    disturb?: (round: number) => unknown,
    more: ConnectOptions = {},
  ): Promise<Happening> => {
    const events: ClusterEvent[] = []
    const traffic: RoundTraffic[] = []
    const on = await connect(store.url, {
      reduce: 64,
      ...more,
      lock: LOCK,
      onEvent: (event) => events.push(event),
      onTraffic: (each) => traffic.push(each),
    })
    try {
      const onIteration = ({ iteration }: { iteration: number }): void => void disturb?.(iteration)
      const model = await cluster(source, { ...options, device, on, onIteration })
      return { events, traffic, model }
    } finally {
      await on.close()
    }
  }
  const leftovers = async (): Promise<number> => {
    const { store: blobs, close } = await connectStore(store.url, {})
    try {
      return (await blobs.runs()).length
    } finally {
      await close()
    }
  }

  beforeAll(async () => {
    store = await start()
  })
  afterAll(async () => {
    await removeWorkers()
    await store.stop()
  })

  test('one worker, then three: the bits of a single process, and nothing is left in the store', async () => {
    await addWorker()
    expect(bitsOf((await run(OPTIONS)).model)).toEqual(await expected(OPTIONS))
    await Promise.all([addWorker(), addWorker()])
    for (const method of ['closures-sharp', 'gmm', 'rakm'] as const) {
      const options = { ...OPTIONS, method, iterations: 4 } as ClusterOptions
      const { relocate: _, ...rest } = options
      const asked = method === 'gmm' ? rest : options
      const { model, traffic, events } = await run(asked)
      expect(bitsOf(model), method).toEqual(await expected(asked))
      expect(traffic.map(({ round }) => round)).toEqual(model.facts.iterations.map(({ iteration }) => iteration))
      expect(traffic.every(({ sent, received }) => sent > 0 && received > 0)).toBe(true)
      const told = events.findLast((event) => event.kind === 'workers')
      expect(told?.workers.map(({ groups }) => groups.length)).toEqual([4, 4, 4])
    }
    expect(await leftovers()).toBe(0)
  })

  // Who takes over repeats all commands, or begins with what others saved in the store every few rounds.
  test.each([
    { method: 'closures', history: 1e9 },
    { method: 'closures-sharp', history: 3000 },
  ] as const)('kill -9 of workers at random moments, and of two of three: $method', async ({ method, history }) => {
    const random = createRandom(7)
    const options: ClusterOptions = { ...OPTIONS, method, iterations: 2 + 3 * KILLS }
    const kills: Promise<unknown>[] = []
    const disturb = (round: number): void => {
      if (round % 3 !== 1) return
      const victims = workers.splice(0, round === 4 ? 2 : 1)
      const later = new Promise((resolve) => setTimeout(resolve, random.below(60)))
      kills.push(
        later.then(async () => {
          await Promise.all(victims.map((victim) => victim.end('SIGKILL')))
          await Promise.all(victims.map(() => addWorker()))
        }),
      )
    }
    const { model } = await run(options, disturb, { history })
    await Promise.all(kills)
    expect(bitsOf(model)).toEqual(await expected(options))
  })

  test('a worker that leaves hands its shards over at once', async () => {
    let code: Promise<number | null> | undefined
    let began = 0
    const { model, events } = await run(OPTIONS, (round) => {
      if (round !== 3) return
      began = Date.now()
      code = workers.shift()?.end('SIGTERM')
    })
    expect(await code).toBe(0)
    expect(bitsOf(model)).toEqual(await expected(OPTIONS))
    expect(events.some(({ kind }) => kind === 'left')).toBe(true)
    expect(began).toBeGreaterThan(0)
    await addWorker()
  })

  test('a worker that was frozen for longer than its lock and then goes on: two own the same shards', async () => {
    const options = { ...OPTIONS, iterations: 30 }
    const { model } = await run(options, (round) => {
      const [frozen] = workers
      if (round === 3) {
        frozen.signal('SIGSTOP')
        setTimeout(() => frozen.signal('SIGCONT'), LOCK * 3000)
      }
    })
    expect(bitsOf(model)).toEqual(await expected(options))
    workers[0].signal('SIGCONT')
  })

  test('the store is restarted in mid-round', async () => {
    let restarted: Promise<void> | undefined
    const { model } = await run(OPTIONS, (round) => {
      if (round === 4) restarted = store.restart()
    })
    await restarted
    expect(bitsOf(model)).toEqual(await expected(OPTIONS))
  })

  test('kill -9 of the coordinator: the run goes on from its checkpoint', async () => {
    const out = mkdtempSync(join(tmpdir(), 'centroidal-run-'))
    const [first, second] = [join(out, 'alone'), join(out, 'on')]
    const flags = ['-k', '25', '--method', 'closures', '--iterations', '14', '--tolerance', '0', '--no-relocate']
    const same = [data.manifest, ...flags, '--threads', '1', '--device', 'cpu', '--json']
    try {
      expect((await runCli('cluster', ...same, '--out', first)).code).toBe(0)
      const on = ['--on', store.url, '--lock', String(LOCK), '--checkpoint-every', '1', '--out', second]
      const child = startCli('cluster', ...same, ...on)
      child.stdout?.on('data', (text: Buffer) => {
        if (text.toString().includes('"iteration":5')) child.kill('SIGKILL')
      })
      await ending(child)
      expect(child.signalCode).toBe('SIGKILL')
      const resumed = await runCli('cluster', ...same, ...on, '--resume', second)
      expect(resumed.code, resumed.stderr).toBe(0)
      expect(savedBits(second)).toEqual(savedBits(first))
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  })

  test('Ctrl-C saves what was reached, and --resume completes it', async () => {
    const out = mkdtempSync(join(tmpdir(), 'centroidal-run-'))
    const folder = join(out, 'on')
    const flags = ['-k', '25', '--method', 'closures-sharp', '--tolerance', '0', '--no-relocate', '--json']
    const same = [data.manifest, ...flags, '--iterations', '12', '--threads', '1', '--device', 'cpu']
    const on = ['--on', store.url, '--lock', String(LOCK)]
    try {
      const child = startCli('cluster', ...same, ...on, '--out', folder)
      child.stdout?.on('data', (text: Buffer) => {
        if (text.toString().includes('"iteration":3')) child.kill('SIGINT')
      })
      const stopped = await ending(child)
      expect(stopped.code, stopped.stderr).toBe(130)
      expect((await runCli('cluster', ...same, ...on, '--resume', folder)).code).toBe(0)
      expect((await runCli('cluster', ...same, '--out', join(out, 'alone'))).code).toBe(0)
      expect(savedBits(folder)).toEqual(savedBits(join(out, 'alone')))
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  })
})
