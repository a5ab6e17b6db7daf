/** Changes a saved folder and makes all checksums right again, as somebody could who wants a bad folder to be loaded. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checksumOf } from '../../src/core/checksum.ts'
import { sealedJson } from '../../src/data/sealed-json.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests put anything into JSON
export type Json = any

/** Edits model.json, or the JSON file of that name. */
export function editJson(folder: string, edit: (json: Json) => void, name = 'model.json'): void {
  const json = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  edit(json)
  const { checksum: _, ...rest } = json
  writeFileSync(join(folder, name), sealedJson(rest))
}

/** Edits the numbers of an array. The header of a small .npy file takes 128 bytes. */
export function editArray<T extends Float32Array | Uint32Array | Uint8Array>(
  folder: string,
  array: string,
  type: new (buffer: ArrayBuffer) => T,
  edit: (data: T) => void,
  json = 'model.json',
): void {
  const path = join(folder, `${array}.npy`)
  const bytes = new Uint8Array(readFileSync(path))
  const data = new type(bytes.slice(128).buffer)
  edit(data)
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 128)
  writeFileSync(path, bytes)
  recount(folder, `${array}.npy`, json)
}

/** Makes the listing of a file right. */
export function recount(folder: string, name: string, json = 'model.json'): void {
  const bytes = readFileSync(join(folder, name))
  editJson(
    folder,
    ({ files }) => {
      const entry = files.find((file: Json) => file.name === name)
      Object.assign(entry, { bytes: bytes.length, checksum: checksumOf(bytes) })
    },
    json,
  )
}
