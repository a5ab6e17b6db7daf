/** Who owns which shards, by the reports of workers: without a store. */
import { describe, expect, test } from 'vitest'
import type { ClusterEvent } from '../../src/distributed/cluster-events.ts'
import { PROTOCOL } from '../../src/distributed/messages.ts'
import type { Queues } from '../../src/distributed/queues.ts'
import { RunShards } from '../../src/distributed/run-shards.ts'
import type { BlobStore } from '../../src/distributed/store.ts'
import { VERSION } from '../../src/distributed/version.ts'

const RUN = '0123456789abcdef'

interface Coordinator {
  readonly shards: RunShards
  readonly events: ClusterEvent[]
  /** Messages to workers. */
  readonly sent: { queue: string; data: Record<string, unknown> }[]
  /** What a worker reports; `name` is one hexadecimal digit. */
  report(name: string, kind: string, groups: readonly number[], more?: object): Promise<void>
}

/** `lock`: milliseconds; after twice that everything is asked for again. */
async function coordinator(groups: number, lock = 60_000): Promise<Coordinator> {
  const sent: Coordinator['sent'] = []
  const events: ClusterEvent[] = []
  let hear: (data: unknown) => Promise<void> = async () => {}
  const queues = {
    send: async (queue: string, data: object) => void sent.push({ queue, data: data as Record<string, unknown> }),
    receive: (_queue: string, handle: typeof hear) => {
      hear = handle
      return { close: async () => {} }
    },
    withdraw: async () => {},
    finish: async () => {},
    remove: async () => {},
  } as unknown as Queues
  const store = { touch: async () => {}, forget: async () => {}, remove: async () => {} } as unknown as BlobStore
  const shards = new RunShards(store, queues, {
    run: RUN,
    groups,
    onEvent: (event) => events.push(event),
    expire: 60,
    lock,
  })
  await shards.open({
    protocol: PROTOCOL,
    version: VERSION,
    run: RUN,
    groups,
    description: { bytes: 0 },
    purpose: 'cluster',
  })
  sent.length = 0
  const report = (name: string, kind: string, own: readonly number[], more: object = {}): Promise<void> =>
    hear({ run: RUN, worker: name.repeat(16), name, kind, groups: own, device: 'cpu: any', ...more })
  return { shards, events, sent, report }
}

test('groups are taken from those that have most, for workers that own none', async () => {
  const { shards, report, sent, events } = await coordinator(12)
  await report('a', 'own', [0, 1, 2, 3, 4, 5, 6, 7])
  await report('c', 'idle', [])
  // Some groups have no owner yet: whoever is idle can take those.
  expect(shards.surplus.size).toBe(0)
  await report('b', 'own', [8, 9, 10, 11])
  expect([...shards.surplus]).toEqual([['a'.repeat(16), [7, 6, 5, 4]]])
  await shards.rebalance()
  expect(sent.map(({ data }) => [data.kind, data.groups])).toEqual([['release', [7, 6, 5, 4]]])
  expect(events.some(({ kind }) => kind === 'rebalanced')).toBe(true)
  // Once.
  expect(shards.surplus.size).toBe(0)
  await report('c', 'own', [4, 5, 6, 7])
  await report('d', 'idle', [])
  expect([...shards.surplus.values()].map((groups) => groups.length)).toEqual([1, 1, 1])
  await shards.close()
})

test('nothing is taken for workers that cannot serve the run, or where there are more workers than groups', async () => {
  const { shards, report } = await coordinator(2)
  await report('a', 'own', [0, 1])
  await report('b', 'refused', [1], { error: 'no such file' })
  await report('a', 'own', [1])
  await report('b', 'idle', [])
  expect(shards.surplus.size).toBe(0)
  await report('c', 'idle', [])
  expect(shards.surplus.size).toBe(1)
  await report('d', 'idle', [])
  expect(shards.surplus.size).toBe(0)
  await shards.close()
})

test('devices of different kinds are told about, once; CPUs count as one kind', async () => {
  const { shards, report, events } = await coordinator(4)
  await report('a', 'own', [0], { device: 'cpu: 2 threads' })
  await report('b', 'own', [1], { device: 'cpu: 8 threads' })
  expect(events.some(({ kind }) => kind === 'mixed')).toBe(false)
  await report('c', 'own', [2], { device: 'webgpu: some GPU' })
  await report('c', 'own', [3], { device: 'webgpu: some GPU' })
  const mixed = events.filter(({ kind }) => kind === 'mixed')
  expect(mixed).toEqual([{ kind: 'mixed', devices: ['cpu', 'webgpu: some GPU'] }])
  await shards.close()
})

describe('after a silence of twice the lock', () => {
  const LOCK = 40
  const command = { seq: 1, payload: { bytes: 0 }, base: 1, log: [] }
  const control = { signal: undefined, onShare: undefined, patience: undefined }
  const answer = { seq: 1, answer: { bytes: 0 } }
  const A = `centroidal-${RUN}-${'a'.repeat(16)}`
  const B = `centroidal-${RUN}-${'b'.repeat(16)}`

  /** Messages of a kind to a queue, by the groups they name. */
  const to = ({ sent }: Coordinator, queue: string, kind: string): unknown[] =>
    sent.filter((each) => each.queue === queue && each.data.kind === kind).map(({ data }) => data.groups)

  test('workers report what they hold, and get the command again', async () => {
    const run = await coordinator(3, LOCK)
    await run.report('a', 'own', [0, 1, 2])
    const running = run.shards.run(command, async () => {}, control)
    await expect.poll(() => to(run, A, 'task')).toEqual([[0, 1, 2]])
    await run.report('a', 'answer', [1], answer)
    await expect.poll(() => to(run, A, 'report').length).toBeGreaterThan(0)
    await run.report('a', 'holds', [0, 1, 2])
    // The first one was lost, say.
    await expect
      .poll(() => to(run, A, 'task'))
      .toEqual([
        [0, 1, 2],
        [0, 2],
      ])
    await run.report('a', 'answer', [0, 2], answer)
    expect(await running).toBe(false)
    await run.shards.close()
  })

  test('groups that a worker does not hold any more are offered again, and who has them is asked', async () => {
    const run = await coordinator(3, LOCK)
    await run.report('a', 'own', [0, 1])
    await run.report('b', 'own', [2])
    // What another one said a moment later than it was true.
    await run.report('a', 'own', [2])
    const running = run.shards.run(command, async () => {}, control)
    await expect.poll(() => to(run, A, 'report').length).toBeGreaterThan(0)
    await run.report('a', 'holds', [0])
    await run.report('b', 'holds', [2])
    const offered = (): unknown[] =>
      run.sent.filter(({ queue }) => queue === 'centroidal-leases').map(({ data }) => data.group)
    await expect.poll(offered).toContain(1)
    expect(offered()).not.toContain(0)
    await run.report('b', 'own', [1])
    await expect.poll(() => to(run, B, 'task')).toEqual([[1, 2]])
    await run.report('a', 'answer', [0], answer)
    await run.report('b', 'answer', [1, 2], answer)
    expect(await running).toBe(false)
    await run.shards.close()
  })

  test('sums that nobody has added up are asked for again', async () => {
    const run = await coordinator(1, LOCK)
    const places = [{ key: 'x', bytes: 1 }]
    const jobs = [0, 1].map((range) => ({ range, size: 64, places }))
    const reducing = run.shards.reduce(7, jobs, undefined)
    const asked = (): unknown[] =>
      run.sent.filter(({ queue }) => queue.endsWith('-reductions')).map(({ data }) => data.job)
    expect(asked()).toEqual([0])
    await expect.poll(asked).toEqual([0, 1])
    await run.report('a', 'reduced', [], { seq: 7, job: 0, answer: { key: 'zero', bytes: 1 } })
    await expect.poll(() => asked().slice(2)).toContain(1)
    expect(asked().slice(2)).not.toContain(0)
    await run.report('a', 'reduced', [], { seq: 7, job: 1, answer: { key: 'one', bytes: 1 } })
    expect((await reducing).map(({ key }) => key)).toEqual(['zero', 'one'])
    await run.shards.close()
  })

  test('nothing is asked for between two commands', async () => {
    const run = await coordinator(1, LOCK)
    await run.report('a', 'own', [0])
    await new Promise((resolve) => setTimeout(resolve, 6 * LOCK))
    expect(run.sent).toEqual([])
    await run.shards.close()
  })
})

test('reports of unknown kinds are left alone; those that are made up end the run', async () => {
  const { shards, report } = await coordinator(1)
  await report('a', 'something of a later version', [])
  await report('a', 'own', [0])
  const payload = { bytes: 0 }
  const running = shards.run({ seq: 1, payload, base: 1, log: [] }, async () => {}, {
    signal: undefined,
    onShare: undefined,
    patience: undefined,
  })
  running.catch(() => {})
  await report('a', 'answer', [0], { seq: 'x' })
  await expect(running).rejects.toThrow(/A message in the store is invalid/)
  await shards.close()
})
