import { describe, expect, test } from 'vitest'
import { SubmitPacer } from '../../src/device/webgpu/pacer.ts'

const FIRST = 2e8
const SMALLEST = 2e7
const LARGEST = 2e12

/** A queue whose work ends when the test says so, and a clock that moves when the test says so. */
class FakeQueue {
  now = 0
  asked = 0
  readonly #waiting: { resolve: () => void; reject: (error: Error) => void }[] = []

  onSubmittedWorkDone(): Promise<undefined> {
    this.asked++
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: () => resolve(undefined), reject })
    })
  }

  /** The oldest submit ends `milliseconds` from now. */
  async finish(milliseconds: number): Promise<void> {
    this.now += milliseconds
    this.#waiting.shift()?.resolve()
    await settled()
  }

  async fail(): Promise<void> {
    this.#waiting.shift()?.reject(new Error('lost'))
    await settled()
  }
}

/** Lets everything that waits on resolved promises run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}

function start(): { queue: FakeQueue; pacer: SubmitPacer } {
  const queue = new FakeQueue()
  return { queue, pacer: new SubmitPacer(queue, () => queue.now) }
}

/** One submit of as much as the pacer allows, which takes so long. */
async function submit(queue: FakeQueue, pacer: SubmitPacer, milliseconds: number): Promise<void> {
  await pacer.submitted(pacer.operations)
  await settled()
  await queue.finish(milliseconds)
}

async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false
  promise.then(() => {
    done = true
  })
  await settled()
  return done
}

describe('the pacer', () => {
  test('begins small', () => {
    expect(start().pacer.operations).toBe(FIRST)
  })

  test('lets more through after short submits, at most twice as much each time', async () => {
    const { queue, pacer } = start()
    await submit(queue, pacer, 0)
    expect(pacer.operations).toBeCloseTo(2 * FIRST, -2)
    await submit(queue, pacer, 50)
    expect(pacer.operations).toBeCloseTo(2 * Math.SQRT2 * FIRST, -2)
  })

  test('lets less through after long submits, at least half as much each time', async () => {
    const { queue, pacer } = start()
    await submit(queue, pacer, 60_000)
    expect(pacer.operations).toBeCloseTo(FIRST / 2, -2)
    await submit(queue, pacer, 200)
    expect(pacer.operations).toBeCloseTo(FIRST / 2 / Math.SQRT2, -2)
  })

  test('stays where submits take a tenth of a second', async () => {
    const { queue, pacer } = start()
    await submit(queue, pacer, 100)
    expect(pacer.operations).toBeCloseTo(FIRST, -2)
  })

  test('steers to a tenth of a second on a device of any speed', async () => {
    for (const operationsPerMs of [4e5, 1e7, 3e9]) {
      const { queue, pacer } = start()
      for (let i = 0; i < 40; i++) await submit(queue, pacer, pacer.operations / operationsPerMs)
      expect(pacer.operations / operationsPerMs).toBeGreaterThan(90)
      expect(pacer.operations / operationsPerMs).toBeLessThan(110)
    }
  })

  test('steers to another time where it is told', async () => {
    const queue = new FakeQueue()
    const pacer = new SubmitPacer(queue, () => queue.now, 16)
    for (let i = 0; i < 40; i++) await submit(queue, pacer, pacer.operations / 1e8)
    expect(pacer.operations / 1e8).toBeGreaterThan(14)
    expect(pacer.operations / 1e8).toBeLessThan(18)
  })

  test('keeps within its limits', async () => {
    const fast = start()
    for (let i = 0; i < 20; i++) await submit(fast.queue, fast.pacer, 0)
    expect(fast.pacer.operations).toBe(LARGEST)
    const slow = start()
    for (let i = 0; i < 10; i++) await submit(slow.queue, slow.pacer, 60_000)
    expect(slow.pacer.operations).toBe(SMALLEST)
  })

  test('does not ask about small work', async () => {
    const { queue, pacer } = start()
    await pacer.submitted(SMALLEST - 1)
    expect(queue.asked).toBe(0)
    await pacer.submitted(SMALLEST)
    expect(queue.asked).toBe(1)
  })

  test('learns nothing from a submit far below what it allows', async () => {
    const { queue, pacer } = start()
    await pacer.submitted(FIRST / 4 - 1)
    await settled()
    await queue.finish(0)
    expect(pacer.operations).toBe(FIRST)
  })

  test('keeps two submits under way, not three', async () => {
    const { queue, pacer } = start()
    expect(await isDone(pacer.submitted(FIRST))).toBe(true)
    const second = pacer.submitted(FIRST)
    expect(await isDone(second)).toBe(false)
    await queue.finish(100)
    expect(await isDone(second)).toBe(true)
    const third = pacer.submitted(FIRST)
    expect(await isDone(third)).toBe(false)
    await queue.finish(100)
    expect(await isDone(third)).toBe(true)
  })

  test('does not count the time a submit waits behind another', async () => {
    const { queue, pacer } = start()
    const both = [pacer.submitted(FIRST), pacer.submitted(FIRST)]
    await settled()
    await queue.finish(100)
    await queue.finish(100)
    await Promise.all(both)
    expect(pacer.operations).toBeCloseTo(FIRST, -2)
  })

  test('does not count the time between submits', async () => {
    const { queue, pacer } = start()
    await submit(queue, pacer, 100)
    queue.now += 10_000
    await submit(queue, pacer, 100)
    expect(pacer.operations).toBeCloseTo(FIRST, -2)
  })

  test('goes on after a submit that failed', async () => {
    const { queue, pacer } = start()
    await pacer.submitted(FIRST)
    const second = pacer.submitted(FIRST)
    await queue.fail()
    expect(await isDone(second)).toBe(true)
    expect(pacer.operations).toBe(FIRST)
  })
})
