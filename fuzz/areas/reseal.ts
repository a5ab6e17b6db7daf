/** Checksums of a saved folder, made to fit edited files, as someone would who edits it on purpose. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** False where the folder has no JSON file that can be sealed again. */
export function reseal(folder: string): boolean {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) reseal(join(folder, entry.name))
  }
  let sealed = false
  for (const name of ['model.json', 'index.json']) {
    if (existsSync(join(folder, name)) && resealFile(folder, join(folder, name))) sealed = true
  }
  return sealed
}

function resealFile(folder: string, path: string): boolean {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return false
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { checksum: _, ...rest } = value as Record<string, unknown>
  if (Array.isArray(rest.files)) for (const entry of rest.files) refit(folder, entry)
  const body = `${JSON.stringify(rest, undefined, 2).replace(/^\{\n/, '')}\n`
  writeFileSync(path, `{\n  "checksum": "${checksumOf(Buffer.from(body))}",\n${body}`)
  return true
}

/** Size and checksum of a listed file as it is now. */
function refit(folder: string, entry: unknown): void {
  const listed = entry as Record<string, unknown> | null
  if (typeof listed !== 'object' || listed === null || typeof listed.name !== 'string') return
  const path = join(folder, listed.name)
  if (listed.name.includes('..') || listed.name.includes('\0') || !existsSync(path)) return
  try {
    const bytes = readFileSync(path)
    listed.bytes = bytes.length
    listed.checksum = checksumOf(bytes)
  } catch {
    // A folder by that name: the entry stays as it was edited.
  }
}

const MULTIPLIERS = [0x239b961b, 0xab0e9789, 0x38b34ae5, 0xa1e38b93]
const BLOCK_TURNS = [15, 16, 17, 18]
const STATE_TURNS = [19, 17, 15, 13]
const CONSTANTS = [0x561ccd1b, 0x0bcaa747, 0x96cd1c35, 0x32ac3b17]

const turned = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** MurmurHash3 x86_128 with seed 0, written a second time so that the library's own is tested too. */
function checksumOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const h = new Int32Array(4)
  const scrambled = (word: number, lane: number): number =>
    Math.imul(turned(Math.imul(word, MULTIPLIERS[lane]), BLOCK_TURNS[lane]), MULTIPLIERS[(lane + 1) % 4])
  const whole = bytes.length - (bytes.length % 16)
  for (let at = 0; at < whole; at += 16) {
    for (let lane = 0; lane < 4; lane++) {
      h[lane] ^= scrambled(view.getInt32(at + 4 * lane, true), lane)
      h[lane] = turned(h[lane], STATE_TURNS[lane]) + h[(lane + 1) % 4]
      h[lane] = Math.imul(h[lane], 5) + CONSTANTS[lane]
    }
  }
  const tail = new DataView(new ArrayBuffer(16))
  for (let i = whole; i < bytes.length; i++) tail.setUint8(i - whole, bytes[i])
  for (let lane = 0; lane < 4; lane++) h[lane] ^= scrambled(tail.getInt32(4 * lane, true), lane)
  for (let lane = 0; lane < 4; lane++) h[lane] ^= bytes.length
  const mix = (): void => {
    h[0] += h[1] + h[2] + h[3]
    for (let lane = 1; lane < 4; lane++) h[lane] += h[0]
  }
  mix()
  for (let lane = 0; lane < 4; lane++) {
    let word = h[lane]
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b)
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35)
    h[lane] = word ^ (word >>> 16)
  }
  mix()
  return Array.from(h, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}
