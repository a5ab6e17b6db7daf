/**
 * What differs between Node and a page, behind one contract. `#platform` resolves to node.ts or to
 * browser.ts by the "browser" condition in package.json.
 */
import type { ByteSink, ByteSource, Location } from '../core/bytes.ts'

/** A GPU entry point and where it came from, or why there is none. */
export interface GpuEntry {
  readonly gpu: GPU
  readonly adapter: GPUAdapter
  /** 'the system driver', 'SwiftShader from @sparticuz/chromium', 'the browser' */
  readonly origin: string
}

/** A thread that runs the text of a script. */
export interface Thread {
  post(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** Called when the thread throws, fails to start, or ends. */
  onLost(listener: (why: string) => void): void
  /** Whether this thread alone keeps the process alive. */
  keepAlive(on: boolean): void
  terminate(): Promise<void>
}

export interface Platform {
  readonly name: 'node' | 'browser'
  /** Threads this machine runs at once. */
  hardwareThreads(): number
  /** Shared memory between threads is allowed here. */
  sharedMemory(): boolean
  /** Bytes of memory this process may use in all, as far as known: of the machine, or of the container it runs in. */
  memoryLimit(): number | undefined
  /** Bytes of memory this process uses now, as far as known. */
  memoryInUse(): number | undefined
  /** Turns on relaxed SIMD where it waits behind a flag. */
  enableRelaxedSimd(): Promise<void>
  startThread(script: string): Thread
  /** The best adapter there is: hardware first, software only if `software`. Undefined with the reason in `whyNot`. */
  findGpu(options: { software: boolean }): Promise<{ entry?: GpuEntry; whyNot?: string }>
  openBytes(location: Location): Promise<ByteSource>
  createBytes(location: string): Promise<ByteSink>
  /** Makes sure a folder is there and can be written to. */
  makeFolder(location: string): Promise<void>
}
