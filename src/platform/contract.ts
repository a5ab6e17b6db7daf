/**
 * What differs between Node and a page, behind one contract. `#platform` resolves to node.ts or to
 * browser.ts by the "browser" condition in package.json.
 */
import type { ByteSink, ByteSource, FileLocation, ScratchFile } from '../core/bytes.ts'
import type { CentroidalError } from '../core/errors.ts'

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
  /** A text that was remembered under a name, by this process or an earlier one. Undefined where there is none. */
  recall(name: string): Promise<string | undefined>
  /** Stores a text for {@link recall}, if there is a place to store it. */
  remember(name: string, text: string): Promise<void>
  openBytes(location: FileLocation): Promise<ByteSource>
  /** The files that a path stands for: itself, those of a folder, or those that a pattern with * matches. */
  listFiles(location: string): Promise<readonly string[]>
  /** A package that is there only if the user installed it. */
  importPackage(name: string): Promise<unknown>
  createBytes(location: string): Promise<ByteSink>
  /** File operations that saving a folder is made of. Undefined in a page, which has no folders to write to. */
  readonly disk: Disk | undefined
  /**
   * A new temporary file, in the given folder or the system's. It disappears with the process, however that ends. Undefined in
   * a page, which has nowhere to put it.
   */
  readonly createScratch: ((folder?: string) => Promise<ScratchFile>) | undefined
  /** An error of one of those operations as a sentence. */
  cannotWrite(location: string, error: unknown): CentroidalError
}

/** What is known of a file or folder. */
export interface FileFacts {
  readonly mode: number
  readonly mtimeMs: number
  /** Bytes. */
  readonly size: number
  isFile(): boolean
  isDirectory(): boolean
}

/** A file that is being written. */
export interface OpenFile {
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>
  /** Returns when the bytes are on the disk. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** Single operations on files. They fail with the errors of Node, whose `code` says why. */
export interface Disk {
  /** `wx` makes a file that must not be there yet. */
  open(path: string, flags: 'wx', mode?: number): Promise<OpenFile>
  /** The folder a path is in. */
  parentOf(path: string): string
  /** Does not follow a symbolic link. */
  lstat(path: string): Promise<FileFacts>
  /** A whole small file. */
  read(path: string): Promise<Uint8Array>
  readdir(path: string): Promise<string[]>
  mkdir(path: string): Promise<void>
  rmdir(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  requireWritable(path: string): Promise<void>
  /** Returns when the names in the folder are on the disk. */
  syncFolder(path: string): Promise<void>
  /** Sets the time of the last change to now. */
  touch(path: string): Promise<void>
  /** The path of a file or folder without symbolic links. */
  realpath(path: string): Promise<string>
  /** A path relative to a folder, made absolute. */
  within(folder: string, path: string): string
  /** How to get from a folder to a file, with forward slashes. */
  relative(folder: string, path: string): string
  /** The calling process. */
  self(): Promise<{ readonly pid: number; readonly thread: number; readonly host: string }>
  isRunning(pid: number): Promise<boolean>
}
