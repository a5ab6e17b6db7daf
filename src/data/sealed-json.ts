/**
 * The JSON file that makes a folder a save: model.json or index.json. It lists every other file of the save with its
 * size and checksum, and begins with a checksum of its own remaining bytes:
 *
 *     {
 *       "checksum": "32 hexadecimal digits",
 *       ...
 */
import { checksumOf } from '../core/checksum.ts'

/** A file of a save. */
export interface SavedFile {
  /** Relative to the folder; of a folder inside it: quantizer/books.npy. */
  readonly name: string
  readonly bytes: number
  readonly checksum: string
}

/** The files of a save other than the JSON file. */
export interface Listing {
  /** Where files are until they have been moved to their own names: see folder-save.ts. */
  readonly staging: string
  readonly files: readonly SavedFile[]
}

/** Names of the JSON file: of models, quantizers and indexes of codes; of indexes of images. */
export const JSON_FILES = ['model.json', 'index.json'] as const
export type JsonFile = (typeof JSON_FILES)[number]

export const STAGING_NAME = /^\.saving-[0-9a-f]{16}$/
/** In a folder inside another one, whose save it is part of. */
const OUTER_STAGING = /^\.\.\/\.saving-[0-9a-f]{16}\/[a-z]+$/
/** At most one folder deep, and never out of the folder. */
const FILE_NAME = /^(?:[a-z]{1,32}\/)?[a-z][a-z0-9-]{0,63}\.[a-z]{1,8}$/
const CHECKSUM = /^[0-9a-f]{32}$/
/** No save has more than a few dozen files. */
const MOST_FILES = 1000

const HEAD = '{\n  "checksum": "'
const HEAD_END = '",\n'
const HEAD_BYTES = HEAD.length + 32 + HEAD_END.length

export function sealedJson(contents: object): Uint8Array {
  const rest = new TextEncoder().encode(`${JSON.stringify(contents, undefined, 2).replace(/^\{\n/, '')}\n`)
  const head = new TextEncoder().encode(`${HEAD}${checksumOf(rest)}${HEAD_END}`)
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

/** The checksum that a sealed file begins with. */
export function sealOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(HEAD.length, HEAD.length + 32))
}

/** Whether every byte is as it was written. */
export function isSealed(bytes: Uint8Array): boolean {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES))
  return head === `${HEAD}${checksumOf(bytes.subarray(HEAD_BYTES))}${HEAD_END}`
}

/** An object, or undefined where it is none. */
export function parsedJson(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Undefined if a name, size or checksum is invalid: no file is then read, moved or removed. */
export function listingOf({ staging, files }: Record<string, unknown>): Listing | undefined {
  if (typeof staging !== 'string' || !(STAGING_NAME.test(staging) || OUTER_STAGING.test(staging))) return undefined
  if (!Array.isArray(files) || files.length > MOST_FILES) return undefined
  const found: SavedFile[] = []
  for (const entry of files as unknown[]) {
    const { name, bytes, checksum } = (entry ?? {}) as Partial<Record<keyof SavedFile, unknown>>
    if (!isFileName(name) || typeof checksum !== 'string' || !CHECKSUM.test(checksum)) return undefined
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) return undefined
    if (found.some((other) => other.name === name)) return undefined
    found.push({ name, bytes, checksum })
  }
  return { staging, files: found }
}

export function isFileName(name: unknown): name is string {
  return typeof name === 'string' && FILE_NAME.test(name)
}

/** The folder inside the save that a file is in, or nothing. */
export function innerFolderOf(name: string): string | undefined {
  return name.includes('/') ? name.slice(0, name.indexOf('/')) : undefined
}
