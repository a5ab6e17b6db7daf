/** What holds the memory of this process when it is at its peak. */
import { readFileSync } from 'node:fs'
import type { Device } from '../../src/index.ts'

/** Milliseconds between two looks. */
const STEP = 20
/** Device buffers are listed down to this share of all. */
const SMALLEST_SHARE = 1 / 100

export interface Holder {
  readonly what: string
  readonly bytes: number
}

export interface PeakMemory {
  /** Of the fullest moment that was seen, the largest first. */
  readonly holders: readonly Holder[]
  /** Resident memory then. */
  readonly bytes: number
  /** What the system counted as the peak, which may lie between two looks. */
  readonly peakBytes: number
}

interface Moment {
  readonly bytes: number
  readonly node: NodeJS.MemoryUsage
  /** Of the address space of the kernels. */
  readonly heldBytes: number
  readonly buffers: ReadonlyMap<string, number>
}

/** Looks at the process until the function that is returned is called. Buffers of the device are told apart by their label. */
export function watchPeak(device: Device): () => PeakMemory {
  const buffers = new Map<string, number>()
  const allocate = device.allocate.bind(device)
  const count = (label: string, bytes: number): void => void buffers.set(label, (buffers.get(label) ?? 0) + bytes)
  device.allocate = (bytes, label) => {
    const buffer = allocate(bytes, label)
    count(label, bytes)
    const free = buffer.free.bind(buffer)
    buffer.free = () => {
      if (!buffer.freed) count(label, -bytes)
      free()
    }
    return buffer
  }
  let fullest: Moment | undefined
  const look = (): void => {
    const node = process.memoryUsage()
    if (fullest !== undefined && node.rss <= fullest.bytes) return
    fullest = { bytes: node.rss, node, heldBytes: device.heldBytes ?? 0, buffers: new Map(buffers) }
  }
  const timer = setInterval(look, STEP)
  look()
  return () => {
    clearInterval(timer)
    const { bytes, node, heldBytes, buffers } = fullest as Moment
    const inUse = [...buffers.values()].reduce((sum, more) => sum + more, 0)
    const holders: Holder[] = [
      { what: 'address space of the kernels', bytes: heldBytes },
      ...[...buffers]
        .filter(([, size]) => size > SMALLEST_SHARE * bytes)
        .map(([label, size]) => ({ what: `  ${label}`, bytes: size }))
        .sort((a, b) => b.bytes - a.bytes),
      { what: '  scratch and free', bytes: heldBytes - inUse },
      { what: 'ArrayBuffers', bytes: node.arrayBuffers },
      { what: 'heap of V8', bytes: node.heapTotal },
      { what: 'everything else', bytes: bytes - heldBytes - node.arrayBuffers - node.heapTotal },
    ]
    return { holders, bytes, peakBytes: peakOf(readFileSync('/proc/self/status', 'utf8')) }
  }
}

/** What the system counted, of a text such as /proc/self/status. */
export function peakOf(status: string): number {
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024
}
