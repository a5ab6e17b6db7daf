/** A device whose memory is never zero by chance: every allocation is filled with a pattern. */
import type { Device } from '../../../src/index.ts'

export function poisoned(device: Device, pattern: number): Device {
  const allocate = device.allocate.bind(device)
  return new Proxy(device, {
    get(target, name) {
      if (name === 'allocate') {
        return (bytes: number, label: string) => {
          const buffer = allocate(bytes, label)
          target.write(buffer, new Uint32Array(buffer.bytes >>> 2).fill(pattern))
          return buffer
        }
      }
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** NaN, an index far outside, and minus a large number. */
export const PATTERNS = [0x7fc00001, 0x3fffffff, 0xff000000] as const
