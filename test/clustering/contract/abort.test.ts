/** Stopped at any moment, a run gives what its rounds so far gave, or rejects; and it can be resumed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cluster, createRandom, type Device, openDevice } from '../../../src/index.ts'
import { bitsOf, cloud, SUBJECTS } from './subjects.ts'

const vectors = cloud(9)

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1, limits: { partBytes: 2500 } })
})
afterAll(() => device.close())

/** The device, counting calls of it; at the given one `act` is called. */
function watched(at: number, act: () => void): { device: Device; calls: () => number } {
  let calls = 0
  const proxy = new Proxy(device, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'run' || name === 'read') if (++calls === at) act()
        return value.apply(target, args)
      }
    },
  })
  return { device: proxy, calls: () => calls }
}

test.each(SUBJECTS)('$name', async ({ options }) => {
  const asked = { ...options, iterations: 4 }
  const counted = watched(0, () => undefined)
  const whole = await cluster(vectors, { ...asked, device: counted.device })
  // Scratch of the threads stays for the next run.
  const before = device.allocatedBytes
  const random = createRandom(options.seed ?? 0)
  for (let turn = 0; turn < 6; turn++) {
    const controller = new AbortController()
    const { signal } = controller
    const at = 1 + random.below(counted.calls())
    const stopper = watched(at, () => controller.abort(new Error('stopped')))
    const stopped = await cluster(vectors, { ...asked, device: stopper.device, signal }).catch((error: Error) => {
      expect(error.message).toBe('stopped')
      return undefined
    })
    expect(device.allocatedBytes).toBe(before)
    if (stopped === undefined) continue
    const rounds = stopped.facts.iterations.length
    const same = await cluster(vectors, { ...asked, iterations: rounds, device })
    expect(stopped.labels).toEqual(same.labels)
    expect(stopped.centers.data).toEqual(same.centers.data)
    const rest = await cluster(vectors, { ...asked, device, resume: stopped })
    expect(bitsOf(rest)).toEqual(bitsOf(whole))
  }
})
