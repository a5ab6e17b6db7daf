/** Archives that are damaged or malicious. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { constants, deflateRawSync, crc32 as zlibCrc32 } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import { crc32 } from '../../src/data/crc32.ts'
import { npyHeader } from '../../src/data/npy.ts'
import { readNpz } from '../../src/data/npz.ts'
import { failure } from './failure.ts'
import { concat, memorySource } from './memory-source.ts'
import { type RawMember, rawZip } from './raw-zip.ts'
import { fromScipy } from './scipy-files.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const read = (bytes: Uint8Array) => readNpz(memorySource('docs.npz', bytes))

const whole = (...numbers: number[]): Uint8Array =>
  concat(npyHeader([numbers.length], 'i32'), new Uint8Array(Int32Array.from(numbers).buffer))
const DATA = whole(5, 6)

function members(change: Partial<RawMember> = {}): RawMember[] {
  return [
    { name: 'format.npy', packed: concat(npyHeader([3], 'u8'), new TextEncoder().encode('csr')) },
    { name: 'shape.npy', packed: whole(2, 3) },
    { name: 'indptr.npy', packed: whole(0, 1, 2) },
    { name: 'indices.npy', packed: whole(0, 2) },
    { name: 'data.npy', packed: DATA, ...change },
  ]
}

test('CRC-32 in pieces is that of zlib', () => {
  const bytes = Uint8Array.from({ length: 1001 }, (_, i) => (i * 7919) >> 3)
  for (const cut of [0, 1, 2, 3, 4, 5, 500, 997, 1001]) {
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(zlibCrc32(bytes))
  }
})

test('no flip of a single bit gives other data', async () => {
  const good = fromScipy('csr, compressed')
  const expected = JSON.stringify(await read(good))
  const outcomes = { same: 0, other: [] as number[], refused: 0 }
  // Every 13th bit, and others in each run.
  for (let bit = inject('testSeed') % 13; bit < 8 * good.length; bit += 13) {
    const bytes = good.slice()
    bytes[bit >> 3] ^= 1 << (bit & 7)
    try {
      if (JSON.stringify(await read(bytes)) === expected) outcomes.same++
      else outcomes.other.push(bit)
    } catch (error) {
      if (!(error instanceof CentroidalError)) throw error
      outcomes.refused++
    }
  }
  expect(outcomes.other).toEqual([])
  // Dates, versions and permissions may change; they do not take up half of it.
  expect(outcomes.refused).toBeGreaterThan(outcomes.same)
})

describe('archives', () => {
  const expected = { rows: 2, cols: 3, values: Float32Array.of(5, 6) }

  test('with 64-bit sizes, and with a comment', async () => {
    expect(await read(rawZip(members()))).toMatchObject(expected)
    expect(await read(rawZip(members(), { zip64: true }))).toMatchObject(expected)
    expect(await read(rawZip(members(), { comment: 'PK, a comment' }))).toMatchObject(expected)
  })

  test('deflated', async () => {
    const deflated = { packed: deflateRawSync(DATA), method: 8, size: DATA.length, crc: crc32(DATA) }
    expect(await read(rawZip(members(deflated)))).toMatchObject(expected)
  })

  const endless = deflateRawSync(DATA)
  test.each<[string, Partial<RawMember>, RegExp]>([
    ['another CRC-32', { crc: 1 }, /"data\.npy" does not have its CRC-32/],
    ['encrypted', { flags: 1 }, /"data\.npy" is encrypted/],
    ['another method', { method: 12 }, /"data\.npy" is packed with method 12/],
    ['two sizes', { size: 5 }, /"data\.npy" has two different sizes/],
    ['no deflate', { method: 8 }, /"data\.npy"/],
    ['cut', { packed: endless.subarray(0, -8), method: 8, size: DATA.length, crc: crc32(DATA) }, /"data\.npy"/],
    [
      'bytes behind the data',
      { packed: concat(endless, new Uint8Array(1 << 20)), method: 8, size: DATA.length, crc: crc32(DATA) },
      /"data\.npy" goes on after its end/,
    ],
    [
      'longer than announced',
      { packed: deflateRawSync(concat(DATA, DATA)), method: 8, size: DATA.length, crc: crc32(DATA) },
      /"data\.npy" is longer than the 136 bytes announced/,
    ],
    [
      'shorter than announced',
      { packed: deflateRawSync(DATA.subarray(0, -1)), method: 8, size: DATA.length, crc: crc32(DATA) },
      /"data\.npy" has 135 of 136 bytes/,
    ],
  ])('%s', async (_, change, sentence) => {
    expect(await failure(() => read(rawZip(members(change))))).toMatch(sentence)
  })

  test('a member twice', async () => {
    const twice = [...members(), { name: 'data.npy', packed: whole(7, 8) }]
    expect(await failure(() => read(rawZip(twice)))).toMatch(/contains data\.npy more than once/)
  })

  test('a shape or format that is far too long', async () => {
    const long = members().map((member) =>
      member.name === 'shape.npy' ? { ...member, packed: whole(...new Uint8Array(20_000)) } : member,
    )
    expect(await failure(() => read(rawZip(long)))).toMatch(/shape\.npy of 80128 bytes, far more than it needs/)
  })
})

describe('an archive of 1 MB that would take 1 GB', () => {
  // Pieces that end at a byte can be strung together to any length.
  const zeros = deflateRawSync(new Uint8Array(1 << 20), { finishFlush: constants.Z_SYNC_FLUSH })
  const COUNT = 1 << 28
  const header = npyHeader([COUNT], 'i32')
  const bomb = (head: Uint8Array): Uint8Array =>
    concat(
      deflateRawSync(head, { finishFlush: constants.Z_SYNC_FLUSH }),
      ...new Array(1024).fill(zeros),
      deflateRawSync(new Uint8Array(0)),
    )
  const big = { packed: bomb(header), method: 8, size: header.length + 4 * COUNT, crc: 0 }
  const consistent = members().map((member) => {
    if (member.name === 'indptr.npy') return { name: member.name, packed: whole(0, COUNT, COUNT) }
    return ['indices.npy', 'data.npy'].includes(member.name) ? { ...big, name: member.name } : member
  })

  test.each<[string, RawMember[], RegExp]>([
    ['and says so', consistent, /would grow from \d+ to \d+ bytes/],
    [
      'and says less',
      members({ ...big, packed: bomb(DATA), size: DATA.length }),
      /longer than the 136 bytes announced/,
    ],
  ])('%s, is refused in little memory', async (_, content, sentence) => {
    await writeFile(path('bomb.npz'), rawZip(content))
    const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
    expect(existsSync(library), 'node scripts/build.mjs makes dist').toBe(true)
    const program = `const { readSparse } = await import(${JSON.stringify(library)})
      const before = process.resourceUsage().maxRSS
      const error = await readSparse(${JSON.stringify(path('bomb.npz'))}).catch((error) => error)
      const grown = (process.resourceUsage().maxRSS - before) / 1024
      console.log(JSON.stringify({ name: error.name, message: error.message, grown }))`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    const { name, message, grown } = JSON.parse(stdout)
    expect([name, message]).toEqual(['CentroidalError', expect.stringMatching(sentence)])
    expect(grown).toBeLessThan(200)
  })
})
