/** The worker's side of the demos, in Node: granted rounds, turns, stopping, failures, and what is transferred. */
import { describe, expect, test } from 'vitest'
import type { ClusterResult, ClusterRound } from '../../demos/engine/cluster-task.ts'
import type { FromWorker } from '../../demos/engine/protocol.ts'
import { WorkerServer } from '../../demos/engine/serve.ts'
import type { TaskContext } from '../../demos/engine/task.ts'
import { TASKS } from '../../demos/engine/tasks.ts'
import { blobs, CentroidalError, cluster } from '../../src/index.ts'

const { vectors } = blobs({ rows: 200, cols: 3, clusters: 4, spread: 3, seed: 2 })
const options = { k: 4, method: 'lloyd', seed: 5, start: 'random' } as const

interface Heard {
  readonly message: FromWorker
  readonly transfer: readonly Transferable[]
}

function serve(tasks: ConstructorParameters<typeof WorkerServer>[0] = TASKS) {
  const heard: Heard[] = []
  const server = new WorkerServer(tasks, { lose: () => {} }, (message, transfer) => heard.push({ message, transfer }))
  const of = <Type extends FromWorker['type']>(type: Type) =>
    heard.map(({ message }) => message).filter((one): one is Extract<FromWorker, { type: Type }> => one.type === type)
  const until = (type: FromWorker['type'], count = 1) =>
    expect.poll(() => of(type).length, { interval: 5, timeout: 10_000 }).toBe(count)
  return { server, heard, of, until }
}

/** Long enough for a round that should not happen. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 60))

describe('a run', () => {
  test('goes as many rounds as it was granted, and ends as cluster() does', async () => {
    const { server, of, until, heard } = serve()
    server.receive({ type: 'open', device: 'cpu' })
    await until('device')
    server.receive({ type: 'start', run: 1, task: 'cluster', input: { vectors, options, look: true }, rounds: 1 })
    await until('round')
    await aWhile()
    expect(of('round').length).toBe(1)
    server.receive({ type: 'step', run: 1, rounds: 2 })
    await until('round', 3)
    server.receive({ type: 'step', run: 1, rounds: Number.POSITIVE_INFINITY })
    await until('result')
    const model = await cluster(vectors, { ...options, device: 'cpu' })
    const result = of('result')[0].value as ClusterResult
    expect(result.labels).toEqual(model.labels)
    expect(result.centers.data).toEqual(model.centers.data)
    const rounds = of('round').map(({ value }) => value as ClusterRound)
    expect(rounds.map(({ stats }) => stats.distortion)).toEqual(
      model.facts.iterations.map(({ distortion }) => distortion),
    )
    // Labels and centres of a round are given away, not copied.
    const first = heard.find(({ message }) => message.type === 'round')
    expect(first?.transfer).toContain(rounds[0].look?.labels.buffer)
    expect(first?.transfer).toContain(rounds[0].look?.centers.buffer)
  })

  test('rests while paused, and what it reached is the result when it is stopped', async () => {
    const { server, of, until } = serve()
    server.receive({ type: 'open', device: 'cpu' })
    server.receive({ type: 'start', run: 1, task: 'cluster', input: { vectors, options, look: false }, rounds: 2 })
    await until('round', 2)
    server.receive({ type: 'step', run: 1, rounds: 0 })
    await aWhile()
    expect(of('round').length).toBe(2)
    server.receive({ type: 'stop', run: 1 })
    await until('result')
    const { facts } = of('result')[0].value as ClusterResult
    expect([facts.stopped, facts.iterations.length]).toEqual(['aborted', 2])
  })

  test('that is stopped before its first round says that there is nothing', async () => {
    const { server, of, until } = serve()
    server.receive({ type: 'open', device: 'cpu' })
    server.receive({ type: 'start', run: 1, task: 'cluster', input: { vectors, options, look: false }, rounds: 0 })
    server.receive({ type: 'stop', run: 1 })
    await until('error')
    expect(of('error')[0]).toMatchObject({ run: 1, failure: { code: 'stopped' } })
  })

  test('that cannot be says why, and others go on', async () => {
    const { server, of, until } = serve()
    server.receive({ type: 'open', device: 'cpu' })
    const many = { vectors, options: { ...options, k: 900 }, look: false }
    server.receive({ type: 'start', run: 1, task: 'cluster', input: many, rounds: 9 })
    server.receive({ type: 'start', run: 2, task: 'leaves', input: { vectors, options: {} }, rounds: 1 })
    await until('error')
    await until('result')
    expect(of('error')[0].failure).toMatchObject({ code: 'bad-option' })
    expect(of('error')[0].failure.message).toMatch(/Option k is 900/)
    expect(of('result')[0].run).toBe(2)
  })
})

test('another device stops the runs that are under way', async () => {
  const { server, of, until } = serve()
  server.receive({ type: 'open', device: 'cpu' })
  server.receive({ type: 'start', run: 1, task: 'cluster', input: { vectors, options, look: false }, rounds: 1 })
  await until('round')
  server.receive({ type: 'open', device: 'cpu' })
  await until('result')
  await until('device', 2)
  expect(of('device').map(({ device }) => device.replacesLost)).toEqual([false, false])
})

test('rounds of two runs take turns on the device', async () => {
  let working = 0
  let most = 0
  async function* task() {
    for (let i = 0; i < 5; i++) {
      most = Math.max(most, ++working)
      await new Promise((resolve) => setTimeout(resolve, 2))
      working--
      yield i
    }
    return 'done'
  }
  const { server, until } = serve({ task })
  server.receive({ type: 'open', device: 'cpu' })
  for (const run of [1, 2]) server.receive({ type: 'start', run, task: 'task', input: undefined, rounds: 99 })
  await until('result', 2)
  expect(most).toBe(1)
})

test('a run whose GPU is lost begins again on the CPU, once, with the rounds it was granted', async () => {
  const kinds: string[] = []
  async function* task(_input: undefined, { device }: TaskContext) {
    kinds.push(device.info.kind)
    yield 1
    if (device.info.kind === 'webgpu') throw new CentroidalError('device-lost', 'The GPU device was lost.')
    yield 2
    return device.info.kind
  }
  const { server, of, until } = serve({ task })
  server.receive({ type: 'open', device: 'webgpu' })
  await until('device')
  server.receive({ type: 'start', run: 1, task: 'task', input: undefined, rounds: 3 })
  await until('restart')
  // Three were granted: one went on the GPU, and the one that was lost with it is owed.
  await until('round', 3)
  await aWhile()
  expect(of('result')).toEqual([])
  server.receive({ type: 'step', run: 1, rounds: 1 })
  await until('result')
  expect(kinds).toEqual(['webgpu', 'cpu'])
  expect(of('device').map(({ device }) => [device.kind, device.replacesLost])).toEqual([
    ['webgpu', false],
    ['cpu', true],
  ])
})
