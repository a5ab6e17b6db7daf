/**
 * Runs over real workers on the real engine: the result has the bits of a single process, whatever happens to the workers,
 * the coordinator and the store. PostgreSQL comes from npm; Redis takes part where it is installed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, test as anyTest, beforeAll, describe, expect, inject } from 'vitest'
import { startPostgres, type TestStore } from '../../bench/distributed/postgres-server.ts'
import { hasRedis, startRedis } from '../../bench/distributed/redis-server.ts'
import { createRandom } from '../../src/core/random.ts'
import {
  type ClusterEvent,
  type ClusterModel,
  type ClusterOptions,
  type ConnectOptions,
  cluster,
  clusterSteps,
  connect,
  type Device,
  loadModel,
  openDevice,
  openShards,
  type RoundTraffic,
  type ShardedVectors,
} from '../../src/index.ts'
import { ending, startCli } from '../cli/run-cli.ts'
import { bitsOf } from '../clustering/contract/subjects.ts'
import { leftInStore, pause, type TestData, TestWorker, writeData } from './processes.ts'

/** How often workers are killed, at random moments: `npm run test:kills` sets 20. CENTROIDAL_TEST_SEED repeats the moments. */
const KILLS = Number(process.env.CENTROIDAL_KILLS ?? 3)
/** Seconds. Short, so that deaths are noticed soon. */
const LOCK = 0.6

const OPTIONS: ClusterOptions = { k: 25, method: 'lloyd', seed: 5, iterations: 10, tolerance: 0, relocate: false }

let data: TestData

beforeAll(async () => {
  data = await writeData(1000)
})

afterAll(() => data.remove())

const ENGINES: { name: string; start: () => Promise<TestStore> }[] = [{ name: 'PostgreSQL', start: startPostgres }]
if (hasRedis()) ENGINES.push({ name: 'Redis', start: () => startRedis() })

// Most of the time is spent waiting for locks: engines are tested at the same time, each in the order of its tests.
const test = anyTest.sequential

describe.concurrent.each(ENGINES)('$name', { timeout: 120_000 + 10_000 * KILLS }, ({ start }) => {
  let store: TestStore
  let source: ShardedVectors
  let device: Device
  const alone = new Map<string, Promise<object>>()
  const workers: TestWorker[] = []
  let number = 0

  /** The result of a single process over the same shards. */
  const expected = (options: ClusterOptions): Promise<object> => {
    const key = JSON.stringify(options)
    const known = alone.get(key) ?? cluster(source, { ...options, device }).then(bitsOf)
    alone.set(key, known)
    return known
  }

  const addWorker = async (): Promise<TestWorker> => {
    const worker = new TestWorker(store.url, data.folder, `w${number++}`, LOCK)
    workers.push(worker)
    return worker.says(/ready/)
  }

  interface Happening {
    readonly events: ClusterEvent[]
    readonly traffic: RoundTraffic[]
    readonly model: ClusterModel
  }
  /** `disturb` is called after each round, which is waited for. */
  const run = async (
    options: ClusterOptions,
    disturb?: (round: number, events: readonly ClusterEvent[]) => unknown,
    more: ConnectOptions = {},
  ): Promise<Happening> => {
    const events: ClusterEvent[] = []
    const traffic: RoundTraffic[] = []
    const on = await connect(store.url, {
      ...more,
      lock: LOCK,
      onEvent: (event) => events.push(event),
      onTraffic: (each) => traffic.push(each),
    })
    try {
      const steps = clusterSteps(source, { ...options, device, on })
      for (;;) {
        const step = await steps.next()
        if (step.done) return { events, traffic, model: step.value }
        await disturb?.(step.value.iteration, events)
      }
    } finally {
      await on.close()
    }
  }

  beforeAll(async () => {
    source = await openShards(data.manifest)
    device = await openDevice({ kind: 'cpu', threads: 1 })
    store = await start()
    await addWorker()
  })
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.end()))
    await store.stop()
    await source.close?.()
    await device.close()
  })

  test('workers that join in mid-run get their share', async () => {
    const sharesIn = (events: readonly ClusterEvent[]): number[] => {
      const told = events.findLast((event) => event.kind === 'workers')
      return told?.workers.map(({ groups }) => groups.length) ?? []
    }
    const fair = (shares: readonly number[]): boolean => shares.length === 3 && Math.max(...shares) <= 6
    const { model, events } = await run({ ...OPTIONS, method: 'closures' }, async (round, events) => {
      if (round === 1) await Promise.all([addWorker(), addWorker()])
      // Time to ask for shards, of which some are given to others before each round.
      for (let i = 0; i < 40 && !fair(sharesIn(events)); i++) await pause(50)
    })
    expect(bitsOf(model)).toEqual(await expected({ ...OPTIONS, method: 'closures' }))
    // On a busy machine the first worker may ask again before the others do, and take some of its groups back.
    const shares = sharesIn(events)
    expect(shares.length).toBe(3)
    expect(Math.max(...shares)).toBeLessThanOrEqual(8)
    expect(events.some(({ kind }) => kind === 'rebalanced')).toBe(true)
  })

  // Sums that workers add up, sums that the coordinator does, and state that is saved in the store after every round.
  test.each([
    { method: 'closures-sharp', more: { reduce: 64 } },
    { method: 'gmm', more: { history: 1000 } },
    { method: 'rakm', more: { history: 1000, reduce: 128 } },
  ] as const)(
    'three workers, $method: the bits of a single process, and nothing is left in the store',
    async (each) => {
      const { relocate: _, ...rest } = OPTIONS
      const asked = {
        ...(each.method === 'gmm' ? rest : OPTIONS),
        method: each.method,
        iterations: 4,
      } as ClusterOptions
      const { model, traffic, events } = await run(asked, undefined, each.more)
      expect(bitsOf(model)).toEqual(await expected(asked))
      expect(traffic.map(({ round }) => round)).toEqual(model.facts.iterations.map(({ iteration }) => iteration))
      expect(traffic.every((round) => Math.min(round.sent, round.received, round.workersSent) > 0)).toBe(true)
      const told = events.findLast((event) => event.kind === 'workers')
      expect(told?.workers.length).toBe(3)
      expect(await leftInStore(store.url)).toEqual([])
    },
  )

  // Who takes over repeats all commands, or begins with what others saved in the store.
  test(`kill -9 of workers at ${KILLS} random moments, and of two of three`, async () => {
    const random = createRandom(inject('testSeed'))
    while (workers.length < 3) await addWorker()
    let killed = 0
    for (let i = 0; killed < KILLS; i++) {
      const options: ClusterOptions = { ...OPTIONS, method: i % 2 === 0 ? 'closures' : 'closures-sharp' }
      const more = i % 4 < 2 ? { history: 1000, reduce: 64 } : { history: 1e9 }
      const kills: Promise<unknown>[] = []
      const disturb = (round: number): void => {
        if (killed >= KILLS || round % 4 !== 1) return
        const victims = workers.splice(0, killed % 4 === 1 ? 2 : 1)
        killed += victims.length
        kills.push(
          pause(random.below(80)).then(async () => {
            await Promise.all(victims.map((victim) => victim.end('SIGKILL')))
            await Promise.all(victims.map(() => addWorker()))
          }),
        )
      }
      const { model } = await run(options, disturb, more)
      await Promise.all(kills)
      expect(bitsOf(model), String(options.method)).toEqual(await expected(options))
    }
    expect(killed).toBeGreaterThanOrEqual(KILLS)
  })

  test('a worker that leaves hands its shards over at once', async () => {
    let code: Promise<number | null> | undefined
    const { model, events } = await run(OPTIONS, (round) => {
      if (round === 3) code = workers.shift()?.end('SIGTERM')
    })
    expect(await code).toBe(0)
    expect(bitsOf(model)).toEqual(await expected(OPTIONS))
    expect(events.some(({ kind }) => kind === 'left')).toBe(true)
  })

  test('a worker that was frozen for longer than its lock and then goes on: two own the same shards', async () => {
    const frozen = workers[0]
    const { model, events } = await run(OPTIONS, async (round) => {
      if (round === 3) frozen.signal('SIGSTOP')
      if (round === 4) frozen.signal('SIGCONT')
    })
    frozen.signal('SIGCONT')
    expect(bitsOf(model)).toEqual(await expected(OPTIONS))
    const owners = events.flatMap((event) => (event.kind === 'workers' ? [event.workers] : []))
    // Round 4 was done without it.
    expect(owners.some((each) => each.every(({ name }) => name !== frozen.name))).toBe(true)
  })

  // PostgreSQL tells nobody of shards whose worker died, and after an error BullMQ would wait for an hour to be told.
  test('the store is restarted in mid-round, and then a worker dies', async () => {
    let restarted: Promise<void> | undefined
    const victim = workers[0]
    const { model, events } = await run(OPTIONS, async (round) => {
      if (round === 4) restarted = store.restart()
      if (round === 7) {
        workers.shift()
        await victim.end('SIGKILL')
      }
    })
    await restarted
    expect(bitsOf(model)).toEqual(await expected(OPTIONS))
    const last = events.findLast((event) => event.kind === 'workers')
    expect(last?.workers.map(({ name }) => name)).not.toContain(victim.name)
    await addWorker()
  })

  // Redis may lose the last second, messages too; PostgreSQL loses all blobs, which commands are repeated from.
  test('the store crashes in mid-round: the same bits, or one clear error and a run that can be resumed', async () => {
    const options: ClusterOptions = { ...OPTIONS, method: 'closures' }
    const kept: ClusterModel[] = []
    const checkpoint = { every: 1, save: (model: ClusterModel) => void kept.push(model) }
    let crashed: Promise<void> | undefined
    const crash = async (round: number): Promise<void> => {
      if (round !== 4) return
      crashed = store.crash()
      const victim = workers.shift()
      await victim?.end('SIGKILL')
    }
    const first = await run({ ...options, checkpoint }, crash).catch((error: Error) => error)
    await crashed
    if (first instanceof Error) expect(first.message).toMatch(/is no longer in the store: resume the run/)
    const model =
      first instanceof Error ? (await run({ ...options, resume: kept[kept.length - 1] })).model : first.model
    expect(bitsOf(model)).toEqual(await expected(options))
    await addWorker()
  })

  test('kill -9 of the coordinator: the run goes on from its checkpoint, and the old one expires', async () => {
    const out = mkdtempSync(join(tmpdir(), 'centroidal-run-'))
    const options: ClusterOptions = { ...OPTIONS, method: 'closures' }
    try {
      const flags = ['-k', '25', '--method', 'closures', '--seed', '5', '--iterations', '10', '--tolerance', '0']
      const own = ['--no-relocate', '--device', 'cpu', '--threads', '1', '--json', '--checkpoint-every', '1']
      const on = ['--on', store.url, '--lock', String(LOCK), '--out', out]
      const child = startCli('cluster', data.manifest, ...flags, ...own, ...on)
      child.stdout?.on('data', (text: Buffer) => {
        if (text.toString().includes('"iteration":5')) child.kill('SIGKILL')
      })
      await ending(child)
      expect(child.signalCode).toBe('SIGKILL')
      expect(await leftInStore(store.url)).not.toEqual([])
      const resume = await loadModel(out)
      expect(resume.facts.iterations.length).toBeLessThan(10)
      await pause(1000)
      const { model } = await run({ ...options, resume }, undefined, { expire: 1 })
      expect(bitsOf(model)).toEqual(await expected(options))
      expect(await leftInStore(store.url, false)).toEqual([])
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  })
})
