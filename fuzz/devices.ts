/** Devices with faults: memory that is not empty, allocations that fail. */
import { CentroidalError, type Device, openDevice } from '../src/index.ts'

/**
 * A device whose new memory holds a pattern instead of zeros, scratch of the kernels included: the heap is filled
 * before the first use, and every allocation again.
 */
export async function poisonedDevice(
  pattern: number,
  options: object = { kind: 'cpu', shared: false },
): Promise<Device> {
  const device = await openDevice(options)
  fillHeap(device, pattern)
  return watched(device, (buffer, bytes) => device.write(buffer, new Uint8Array(bytes).fill(pattern)))
}

const HEAP_BYTES = 4 << 20

function fillHeap(device: Device, pattern: number): void {
  const block = device.allocate(HEAP_BYTES, 'pattern')
  device.write(block, new Uint8Array(HEAP_BYTES).fill(pattern))
  block.free()
}

/** A device whose allocation number `failing` (from 1) fails as if the memory were used up. */
export function failingDevice(device: Device, failing: number): Device & { readonly allocations: () => number } {
  let count = 0
  const wrapped = watched(
    device,
    () => {},
    () => {
      if (++count === failing) throw new CentroidalError('out-of-memory', 'No memory left: a test.')
    },
  )
  return Object.assign(wrapped, { allocations: () => count })
}

function watched(
  device: Device,
  after: (buffer: ReturnType<Device['allocate']>, bytes: number) => void,
  before: () => void = () => {},
): Device {
  return {
    info: device.info,
    get allocatedBytes() {
      return device.allocatedBytes
    },
    allocate(bytes, label) {
      before()
      const buffer = device.allocate(bytes, label)
      if (buffer.bytes > 0) after(buffer, buffer.bytes)
      return buffer
    },
    write: (...args) => device.write(...args),
    read: (part) => device.read(part),
    stage: (part) => device.stage(part),
    clear: (part) => device.clear(part),
    copy: (from, to) => device.copy(from, to),
    run: (work, control) => device.run(work, control),
    close: () => device.close(),
  }
}
