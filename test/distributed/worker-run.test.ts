/** What a worker does with the messages of a run, where leases and messages are lost: without a store. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { encode } from '../../src/distributed/codec.ts'
import { PROTOCOL } from '../../src/distributed/messages.ts'
import { OwnedGroups } from '../../src/distributed/owned-groups.ts'
import { ClusterPerformer } from '../../src/distributed/performers.ts'
import type { HeldLease, Queues } from '../../src/distributed/queues.ts'
import type { BlobStore } from '../../src/distributed/store.ts'
import { VERSION } from '../../src/distributed/version.ts'
import { type WorkerContext, WorkerRun } from '../../src/distributed/worker-run.ts'

const RUN = '0123456789abcdef'
const WORKER = 'aaaaaaaaaaaaaaaa'
const GROUPS = 4

const shards = Array.from({ length: GROUPS }, (_, i) => {
  return { file: 'rows.npy', first: i, rows: 1, checksum: '0'.repeat(32), largest: 1 }
})
const description = encode({
  kind: 'rows',
  cols: 1,
  rows: GROUPS,
  type: 'f32',
  shards,
  groups: shards.map((_, i) => [i]),
  wanted: Uint32Array.of(0),
})

interface Scene {
  readonly run: WorkerRun
  readonly reports: Record<string, unknown>[]
  /** Groups whose leases went back. */
  readonly released: number[]
  /** Groups whose lock is lost. */
  readonly lost: Set<number>
  /** Reports of these kinds cannot be sent. */
  readonly unsent: Set<string>
  /** Work that waits until `goOn`. */
  readonly turns: (() => Promise<unknown>)[]
  hear(command: object): Promise<void>
  lease(group: number): HeldLease
}

async function scene(): Promise<Scene> {
  const reports: Scene['reports'] = []
  const released: number[] = []
  const lost = new Set<number>()
  const unsent = new Set<string>()
  const turns: (() => Promise<unknown>)[] = []
  let hear: (data: unknown) => Promise<void> = async () => {}
  const queues = {
    send: async (_queue: string, data: { kind: string }) => {
      if (unsent.has(data.kind)) throw new Error('The store refused')
      reports.push(data)
    },
    receive: (_queue: string, handle: typeof hear) => {
      hear = handle
      return { close: async () => {} }
    },
    remove: async () => {},
  } as unknown as Queues
  const context: WorkerContext = {
    store: { get: async () => description } as unknown as BlobStore,
    queues,
    worker: WORKER,
    name: 'worker',
    device: { info: { kind: 'cpu', name: 'any' } } as WorkerContext['device'],
    roots: {} as WorkerContext['roots'],
    verified: new Set(shards.map((shard) => JSON.stringify(shard))),
    inTurn: (work) =>
      new Promise((resolve, reject) => {
        turns.push(() => work().then(resolve, reject))
      }),
    onEvent: () => {},
  }
  const place = { key: 'run', bytes: description.length }
  const lease = { protocol: PROTOCOL, version: VERSION, run: RUN, group: 0, groups: GROUPS, description: place }
  const run = await WorkerRun.open(context, { ...lease, purpose: 'job' })
  return {
    run,
    reports,
    released,
    lost,
    unsent,
    turns,
    hear: (command) => hear({ run: RUN, seq: 1, groups: [], ...command }),
    lease: (group) => ({
      id: `${RUN}-${group}`,
      data: undefined,
      renew: async () => !lost.has(group),
      release: async () => {
        if (lost.has(group)) throw new Error(`Missing lock for job ${group}`)
        released.push(group)
      },
      complete: async () => {},
    }),
  }
}

async function holding(): Promise<Scene> {
  const own = await scene()
  for (let group = 0; group < GROUPS; group++) await own.run.hold(group, own.lease(group))
  own.reports.length = 0
  return own
}

describe('leases', () => {
  test('are all given back, also where the lock of one was lost unseen', async () => {
    const { lost, released, run, hear } = await holding()
    lost.add(2)
    await hear({ kind: 'release', groups: [3, 2, 1] })
    expect(released).toEqual([3, 1])
    expect(run.groups).toEqual([0])
  })

  test('are given back after a failure that cannot be reported', async () => {
    const { unsent, released, run, turns, hear } = await holding()
    unsent.add('failed')
    const heard = hear({ kind: 'task', groups: [0, 1] })
    // A command without payload fails.
    await turns[0]()
    await heard
    expect(released).toEqual([0, 1])
    expect(run.groups).toEqual([2, 3])
  })

  test('that were lost while shards were compared with their checksums are not held', async () => {
    const { lost, reports, run, lease } = await scene()
    lost.add(1)
    expect(await run.hold(0, lease(0))).toBe(true)
    expect(await run.hold(1, lease(1))).toBe(false)
    expect(run.groups).toEqual([0])
    expect(reports.map(({ groups }) => groups)).toEqual([[0]])
  })

  test('are reported when they are asked for', async () => {
    const { lost, reports, run, hear } = await holding()
    lost.add(2)
    await run.renew()
    await hear({ kind: 'report' })
    expect(reports).toMatchObject([{ kind: 'holds', groups: [0, 1, 3] }])
  })
})

test('a command that is asked for again while it waits or works is done once', async () => {
  const { turns, hear } = await holding()
  const first = hear({ kind: 'task', groups: [0, 1] })
  await hear({ kind: 'task', groups: [0, 1] })
  await hear({ kind: 'task', groups: [1] })
  expect(turns).toHaveLength(1)
  const more = hear({ kind: 'task', groups: [1, 2] })
  const next = hear({ kind: 'task', seq: 2, groups: [0, 1] })
  expect(turns).toHaveLength(3)
  for (const turn of turns) await turn()
  await Promise.all([first, more, next])
  // Afterwards it is answered again: the answer may have been lost.
  const again = hear({ kind: 'task', seq: 2, groups: [0] })
  expect(turns).toHaveLength(4)
  await turns[3]()
  await again
})

describe('what a worker has computed', () => {
  afterEach(() => vi.restoreAllMocks())

  test('stays when it takes over other groups, and goes with groups that it does not hold any more', async () => {
    const opened: (readonly number[])[] = []
    const freed: (readonly number[])[] = []
    vi.spyOn(OwnedGroups, 'open').mockImplementation(async (_, groups) => {
      opened.push(groups)
      const own = { groups, free: () => void freed.push(groups), canFollow: () => true }
      return { ...own, perform: async () => ({ groups, answer: { bytes: 0 } }) } as unknown as OwnedGroups
    })
    const held = new Set([0, 1, 2, 3])
    const blob = { groups: shards.map((_, i) => [i]) }
    const performer = new ClusterPerformer({ blob, held: (group: number) => held.has(group) } as never)
    const answered = async (seq: number, groups: number[]): Promise<(readonly number[])[]> => {
      const all: (readonly number[])[] = []
      const command = { run: RUN, kind: 'task' as const, seq, groups }
      for await (const answer of performer.perform(command as never, undefined)) all.push(answer.groups)
      return all
    }
    expect(await answered(1, [0, 1])).toEqual([[0, 1]])
    // Taken over in the same round.
    expect(await answered(1, [2])).toEqual([[2]])
    expect(await answered(2, [0, 1, 2])).toEqual([[0, 1], [2]])
    expect(opened).toEqual([[0, 1], [2]])
    held.delete(2)
    expect(await answered(3, [0, 1])).toEqual([[0, 1]])
    expect(freed).toEqual([[2]])
  })
})
