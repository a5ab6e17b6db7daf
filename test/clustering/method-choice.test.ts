/** What `method: 'auto'` chooses for devices of known speed. */
import { describe, expect, test } from 'vitest'
import {
  chooseMethod,
  dependsOnSpeed,
  jointSpeed,
  roundSeconds,
  type Task,
} from '../../src/clustering/method-choice.ts'
import { readOptions, resolveOptions } from '../../src/clustering/options.ts'
import { assumedSpeed, type DeviceSpeed, givenSpeed, type Speed } from '../../src/device/speed.ts'
import { blobs, cluster } from '../../src/index.ts'

const task = (rows: number, cols: number, k: number, more: Partial<Task> = {}): Task => ({
  rows,
  cols,
  k,
  sparse: false,
  ...more,
})
const speed = (exact: number, closures: number, source: Speed['source'] = 'measured'): DeviceSpeed => ({
  exact: { gflops: exact, source },
  closures: { gflops: closures, source },
})
const cpu = (threads: number) => assumedSpeed('cpu', threads)
const million = (k: number) => task(1_000_000, 128, k)

describe('auto', () => {
  test.each<[string, Task, DeviceSpeed, string]>([
    ['few clusters, whatever the device', million(99), speed(1, 1000), 'lloyd'],
    ['sparse rows', task(1_000_000, 128, 5000, { sparse: true }), speed(1, 1000), 'lloyd'],
    ['a cheap round on a CPU', task(5000, 32, 1000), cpu(2), 'lloyd'],
    ['many clusters on a CPU', million(10_000), cpu(2), 'closures-sharp'],
    ['100 clusters of many points on a CPU', million(100), cpu(16), 'closures-sharp'],
    ['many clusters on a software adapter', task(20_000, 128, 1000), assumedSpeed('software', 2), 'closures-sharp'],
    ['1,000 clusters on a fast GPU', million(1000), speed(8192, 256), 'lloyd'],
    ['10,000 clusters on a fast GPU that is slow at moves', million(10_000), speed(16384, 64), 'lloyd'],
    ['10,000 clusters on a GPU that is fast at both', million(10_000), speed(16384, 1024), 'closures-sharp'],
    [
      '10,000 clusters on a GPU that was never measured',
      million(10_000),
      assumedSpeed('hardware', 1),
      'closures-sharp',
    ],
    ['100,000 clusters on any GPU', million(100_000), speed(16384, 256), 'closures-sharp'],
  ])('%s', (_, of, device, method) => expect(chooseMethod(of, device).method).toBe(method))

  test('says why, with numbers', () => {
    expect(chooseMethod(task(200_000, 128, 2000), speed(128, 128)).reason).toBe(
      'chosen by auto: about 128 GFLOP/s measured: an exact round takes about 0.85 s, one of closures-sharp about 0.15 s',
    )
    expect(chooseMethod(task(1000, 16, 200), cpu(2)).reason).toBe(
      'chosen by auto: about 128 GFLOP/s assumed: an exact round takes less than 1 ms',
    )
    const half: DeviceSpeed = {
      exact: { gflops: 4096, source: 'measured' },
      closures: { gflops: 512, source: 'assumed' },
    }
    expect(chooseMethod(million(3000), half).reason).toMatch(
      /about 0\.2 s, one of closures-sharp about 0\.19 s \(assumed\)$/,
    )
  })

  test('a class more or less changes the choice near a border only', () => {
    const choices = [2048, 4096, 8192, 16384, 32768].map(
      (exact) => chooseMethod(million(2000), speed(exact, 256)).method,
    )
    // Once lloyd, always lloyd on faster devices.
    expect(choices.lastIndexOf('closures-sharp')).toBeLessThan(choices.indexOf('lloyd'))
    expect(choices).toContain('closures-sharp')
    expect(choices).toContain('lloyd')
  })

  test('rounds cost more with more of everything, and those of closures-sharp not with k', () => {
    const base = roundSeconds(million(1000), cpu(2))
    const more = roundSeconds(million(2000), cpu(2))
    expect(more.lloyd).toBeGreaterThan(base.lloyd * 1.5)
    expect(more.closures).toBe(base.closures)
    expect(roundSeconds(task(2_000_000, 128, 1000), cpu(2)).closures).toBeCloseTo(2 * base.closures, 9)
    expect(roundSeconds(million(1000), cpu(4)).lloyd).toBeCloseTo(base.lloyd / 2, 9)
  })

  test('several devices count together', () => {
    expect(jointSpeed([cpu(2), cpu(2)])).toEqual({
      exact: { gflops: 256, source: 'assumed' },
      closures: { gflops: 256, source: 'assumed' },
    })
    expect(jointSpeed([cpu(2), speed(64, 64)]).exact).toEqual({ gflops: 192, source: 'assumed' })
  })

  test('options that one method alone takes decide, where the speed would', () => {
    const shape = { rows: 1000, cols: 16 }
    const fast = givenSpeed(1e6, 'cpu')
    expect(resolveOptions(readOptions({ k: 200 }), shape, fast).method).toBe('lloyd')
    expect(resolveOptions(readOptions({ k: 200, leafSize: 8 }), shape, fast).method).toBe('closures-sharp')
    expect(() => resolveOptions(readOptions({ k: 20, leafSize: 8 }), shape, fast)).toThrow(
      /lloyd does not support this option/,
    )
    expect(dependsOnSpeed(task(1000, 16, 200))).toBe(true)
    expect(dependsOnSpeed(task(1000, 16, 20))).toBe(false)
  })
})

describe('a clustering', () => {
  const { vectors } = blobs({ rows: 3000, cols: 8, clusters: 50, seed: 4 })
  const options = { k: 400, seed: 1, iterations: 2 } as const

  test('goes by the speed of its device, says so and repeats', async () => {
    const slow = { kind: 'cpu', threads: 1, gflops: 0.5 } as const
    const [fast, other, again] = [
      await cluster(vectors, { ...options, device: { kind: 'cpu', threads: 1, gflops: 64 } }),
      await cluster(vectors, { ...options, device: slow }),
      await cluster(vectors, { ...options, device: slow }),
    ]
    expect([fast, other].map(({ facts }) => facts.method)).toEqual(['lloyd', 'closures-sharp'])
    expect(fast.facts.options.methodReason).toMatch(/about 64 GFLOP\/s given/)
    expect(again.labels).toEqual(other.labels)
    expect(again.centers.data).toEqual(other.centers.data)
  })

  test('that is resumed keeps its method on a device of another speed', async () => {
    const half = await cluster(vectors, { ...options, iterations: 1, device: { kind: 'cpu', threads: 1, gflops: 0.5 } })
    const rest = await cluster(vectors, { ...options, resume: half, device: { kind: 'cpu', threads: 1, gflops: 64 } })
    expect(rest.facts.method).toBe('closures-sharp')
    expect(rest.facts.options.methodReason).toBe(half.facts.options.methodReason)
  })
})
