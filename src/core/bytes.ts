/** Bytes to read from or write to, wherever they are: a file, a Blob dropped on a page, a URL. */

import { path } from './arguments.ts'
import { badArgument } from './errors.ts'

/** Where a file can be: a path in Node or a URL in a page, a URL, or a Blob such as a dropped file. */
export type FileLocation = string | URL | Blob

/**
 * The former name of {@link FileLocation}.
 *
 * @deprecated Use FileLocation: the DOM has a Location of its own.
 */
export type Location = FileLocation

/** What a caller gave as the location of a file. */
export function location(value: unknown, thing: string): FileLocation {
  if (value instanceof URL || value instanceof Blob) return value
  // Addresses that hold their data are as long as it.
  if (typeof value === 'string') return /^(data|blob):/.test(value) ? value : path(value, thing)
  throw badArgument(thing, value, 'give a path, a URL or a Blob.')
}

export interface ByteSource {
  /** Named in errors. */
  readonly name: string
  /** The path of a file on disk, for libraries that open it themselves. */
  readonly path?: string
  readonly size: number
  /** Bytes start (inclusive) to end (exclusive). Fails if the source ends before. */
  read(start: number, end: number): Promise<Uint8Array>
  /** Fills memory of the caller with the bytes from `start` on. Sources without it allocate memory for every read. */
  readInto?(start: number, into: Uint8Array): Promise<void>
  close(): Promise<void>
}

/** Written sequentially in parts. The file appears under its final name only at close(). */
export interface ByteSink {
  readonly name: string
  write(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
  /** Aborts and removes the temporary file. */
  abort(): Promise<void>
}

/** A temporary file for what does not fit in memory. */
export interface ScratchFile {
  write(bytes: Uint8Array, at: number): Promise<void>
  /** Fills `bytes` with what was written there. */
  read(bytes: Uint8Array, at: number): Promise<void>
  /** Removes it, after what is being read or written. */
  close(): Promise<void>
}
