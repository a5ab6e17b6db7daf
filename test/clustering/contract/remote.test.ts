/** What must not change a bit: whether other processes own the shards, how many, and which of them owns which. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Machines, RemoteOwners, RunDescription } from '../../../src/clustering/remote-owners.ts'
import { ShardOwner } from '../../../src/clustering/shard-owner.ts'
import { toSource } from '../../../src/core/matrix.ts'
import { type ClusterOptions, cluster, type Device, matrix, openDevice, type VectorSource } from '../../../src/index.ts'
import { bitsOf, cloud, SUBJECTS } from './subjects.ts'

const SHARDS = [90, 0, 1, 29, 50, 37, 3, 30]
const vectors = cloud(6)
const source: VectorSource = { ...toSource(vectors), shards: SHARDS }

/** Owners in this process, each with its own device. Values are cloned, as between processes. */
function machines(devices: readonly Device[]): Machines & { readonly open: number; readonly asked: string[] } {
  let open = 0
  const asked: string[] = []
  return {
    asked,
    get open() {
      return open
    },
    async begin(_source, given): Promise<RemoteOwners> {
      const run = structuredClone(given) as RunDescription
      const owners = await Promise.all(
        devices.map((device, owner) => {
          // Shards are dealt out in turn.
          const owned = new Set([...run.layout.shards.keys()].filter((shard) => shard % devices.length === owner))
          return ShardOwner.open(device, source, run, { owned })
        }),
      )
      open += owners.length
      let notes: (() => Promise<unknown>)[] = []
      return {
        async ask(name, args) {
          asked.push(name)
          const before = notes
          notes = []
          for (const note of before) await note()
          const answers = await Promise.all(owners.map((owner) => owner.perform(name, structuredClone(args))))
          return structuredClone(answers).reverse()
        },
        note(name, note) {
          const value = structuredClone(note)
          notes.push(() => Promise.all(owners.map((owner) => owner.note(name, structuredClone(value)))))
        },
        async close() {
          for (const owner of owners) owner.free()
          open -= owners.length
        },
      }
    },
  }
}

describe.each([
  { name: 'one domain for each shard', limits: {} },
  { name: 'several domains for some shards', limits: { partBytes: 40 * 32 } },
])('$name', ({ limits }) => {
  const devices: Device[] = []
  beforeAll(async () => {
    for (let i = 0; i < 4; i++) devices.push(await openDevice({ kind: 'cpu', threads: 1, shared: false, limits }))
  })
  afterAll(async () => {
    for (const device of devices) await device.close()
  })

  test.each(SUBJECTS)('$name', async (subject) => {
    const { options } = subject
    const asked = { ...options, seed: 3, device: devices[0] } as ClusterOptions
    const alone = bitsOf(await cluster(source, asked))
    for (const count of [1, 3]) {
      const on = machines(devices.slice(1, 1 + count))
      expect(bitsOf(await cluster(source, { ...asked, on }))).toEqual(alone)
      expect(on.open).toBe(0)
    }
  })

  // Most centres lie so far out that no point takes them, and many of the farthest points are the last of their clusters.
  test('empty clusters are refilled without asking for all labels', async () => {
    const { rows, cols, data } = vectors
    const start = matrix(
      Float32Array.from({ length: 40 * cols }, (_, i) => (i < 2 * cols ? data[i] : 1e3 + i)),
      40,
      cols,
    )
    const options: ClusterOptions = { k: 40, method: 'lloyd', start, iterations: 3, tolerance: 0, relocate: false }
    const alone = await cluster(source, { ...options, device: devices[0] })
    expect(new Set(alone.labels).size).toBe(40)
    expect(rows).toBeGreaterThan(40)
    for (const count of [1, 3]) {
      const on = machines(devices.slice(1, 1 + count))
      const model = await cluster(source, { ...options, device: devices[0], on })
      expect(bitsOf(model)).toEqual(bitsOf(alone))
      expect(on.asked.filter((name) => name === 'farthest').length).toBeGreaterThan(0)
      // At the end.
      expect(on.asked.filter((name) => name === 'labels')).toHaveLength(1)
      expect(on.asked).not.toContain('distances')
    }
  })
})
