/**
 * Reads members of a zip archive as a stream: nothing is inflated that is not asked for, never more than the directory
 * announces, and every member is checked against its CRC-32 before its last byte is given out.
 */
import { Inflate } from 'fflate'
import type { ByteSource } from '../core/bytes.ts'
import { crc32 } from './crc32.ts'
import { allocate, badFile } from './table.ts'

export interface ZipMember {
  readonly name: string
  /** Inflated, as the directory says. */
  readonly size: number
  readonly packedSize: number
  readonly method: number
  readonly encrypted: boolean
  readonly crc: number
  readonly headerStart: number
}

const STORED = 0
const DEFLATED = 8
const END_BYTES = 22
const LONGEST_COMMENT = 0xffff
const LOCATOR_BYTES = 20
const END64_BYTES = 56
const ENTRY_BYTES = 46
const HEADER_BYTES = 30
/** An archive of arrays has a handful of members. */
const LONGEST_DIRECTORY = 1 << 20
/** Small, because deflate grows at most a thousandfold: an input piece inflates to at most 32 MiB. */
const INPUT_BYTES = 1 << 15
/** A stored block is up to 64 KiB and comes out at its end. More input without output is not deflate. */
const PIECES_WITHOUT_OUTPUT = 4

export async function readDirectory(source: ByteSource): Promise<ZipMember[]> {
  const { count, start, end } = await findDirectory(source)
  if (start > end || end > source.size) throw damaged(source, 'its directory lies outside the file')
  if (end - start > LONGEST_DIRECTORY) throw damaged(source, `its directory takes ${end - start} bytes`)
  const bytes = await source.read(start, end)
  const view = viewOf(bytes)
  const members: ZipMember[] = []
  for (let at = 0; at < bytes.length; ) {
    const entry = at + ENTRY_BYTES <= bytes.length && view.getUint32(at, true) === 0x02014b50
    const lengths = entry ? [28, 30, 32].map((field) => view.getUint16(at + field, true)) : []
    const next = lengths.reduce((sum, length) => sum + length, at + ENTRY_BYTES)
    if (!entry || next > bytes.length) throw damaged(source, 'its directory cannot be read')
    members.push(readEntry(source, bytes.subarray(at, next), lengths[0], lengths[1]))
    at = next
  }
  if (members.length !== count) throw damaged(source, `it says ${count} members and lists ${members.length}`)
  return members
}

async function findDirectory(source: ByteSource): Promise<{ count: number; start: number; end: number }> {
  const tailStart = Math.max(0, source.size - END_BYTES - LONGEST_COMMENT - LOCATOR_BYTES)
  const view = viewOf(await source.read(tailStart, source.size))
  let at = view.byteLength - END_BYTES
  while (at >= 0 && !(view.getUint32(at, true) === 0x06054b50 && endsWithComment(view, at))) at--
  if (at < 0) throw damaged(source, 'there is no zip directory at its end')
  const [count, size, start] = [
    view.getUint16(at + 10, true),
    view.getUint32(at + 12, true),
    view.getUint32(at + 16, true),
  ]
  if (count !== 0xffff && size !== 0xffffffff && start !== 0xffffffff) return { count, start, end: start + size }
  const locator = at - LOCATOR_BYTES
  if (locator < 0 || view.getUint32(locator, true) !== 0x07064b50) return { count, start, end: start + size }
  const end64 = Number(view.getBigUint64(locator + 8, true))
  if (end64 + END64_BYTES > source.size) throw damaged(source, 'its directory lies outside the file')
  const record = viewOf(await source.read(end64, end64 + END64_BYTES))
  if (record.getUint32(0, true) !== 0x06064b50) throw damaged(source, 'its directory cannot be found')
  const [count64, size64, start64] = [32, 40, 48].map((field) => Number(record.getBigUint64(field, true)))
  return { count: count64, start: start64, end: start64 + size64 }
}

function endsWithComment(view: DataView, at: number): boolean {
  return at + END_BYTES + view.getUint16(at + 20, true) === view.byteLength
}

function readEntry(source: ByteSource, bytes: Uint8Array, nameLength: number, extraLength: number): ZipMember {
  const view = viewOf(bytes)
  const nameEnd = ENTRY_BYTES + nameLength
  const large = largeNumbers(viewOf(bytes.subarray(nameEnd, nameEnd + extraLength)))
  // Each is in the extra field only if its own field is full, in this order.
  const number = (field: number): number => {
    const small = view.getUint32(field, true)
    return small === 0xffffffff ? (large.shift() ?? small) : small
  }
  const [size, packedSize, headerStart] = [number(24), number(20), number(42)]
  const name = new TextDecoder().decode(bytes.subarray(ENTRY_BYTES, nameEnd))
  if (headerStart + HEADER_BYTES + packedSize > source.size) {
    throw damaged(source, `its member ${JSON.stringify(name.slice(0, 40))} lies outside the file`)
  }
  const encrypted = (view.getUint16(8, true) & 1) !== 0
  return {
    name,
    size,
    packedSize,
    method: view.getUint16(10, true),
    encrypted,
    crc: view.getUint32(16, true),
    headerStart,
  }
}

/** The 64-bit numbers of the extra field 1. */
function largeNumbers(extra: DataView): number[] {
  for (let at = 0; at + 4 <= extra.byteLength; ) {
    const length = Math.min(extra.getUint16(at + 2, true), extra.byteLength - at - 4)
    if (extra.getUint16(at, true) === 1) {
      return Array.from({ length: length >> 3 }, (_, i) => Number(extra.getBigUint64(at + 4 + 8 * i, true)))
    }
    at += 4 + length
  }
  return []
}

/** The inflated bytes of a member. Made for reading forwards: going back before the last piece starts again. */
export function openMember(source: ByteSource, member: ZipMember): ByteSource {
  const { size } = member
  const name = `${source.name}, ${member.name}`
  let stream = inflated(source, member)
  let pieceStart = 0
  let piece = new Uint8Array(0)
  /** False after the last piece, when all checks are made. */
  const advance = async (): Promise<boolean> => {
    const { value, done } = await stream.next()
    pieceStart += piece.length
    piece = value ?? new Uint8Array(0)
    return !done
  }
  return {
    name,
    size,
    async read(start, end) {
      if (start > end || end > size) throw badFile({ name }, ` ends at byte ${size}: bytes up to ${end} were expected.`)
      if (start < pieceStart) {
        stream = inflated(source, member)
        pieceStart = 0
        piece = new Uint8Array(0)
      }
      const out = allocate('u8', end - start, name)
      for (let at = start; at < end; ) {
        const taken = piece.subarray(at - pieceStart, end - pieceStart)
        out.set(taken, at - start)
        at += taken.length
        if (at < end && !(await advance())) throw damaged(source, `${JSON.stringify(member.name)} ends early`)
      }
      if (end === size) while (await advance());
      return out
    },
    async close() {},
  }
}

/** Pieces that are never empty, together exactly as long as the directory says. Fails at the end if the CRC-32 differs. */
async function* inflated(source: ByteSource, member: ZipMember): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { size, crc: expected } = member
  let total = 0
  let crc = 0
  for await (const piece of unpacked(source, member)) {
    total += piece.length
    if (total > size) throw damaged(source, `${JSON.stringify(member.name)} is longer than the ${size} bytes announced`)
    crc = crc32(piece, crc)
    yield piece
  }
  if (total < size) throw damaged(source, `${JSON.stringify(member.name)} has ${total} of ${size} bytes`)
  if (crc !== expected) throw damaged(source, `${JSON.stringify(member.name)} does not have its CRC-32`)
}

async function* unpacked(source: ByteSource, member: ZipMember): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const start = await dataStart(source, member)
  const produced: Uint8Array<ArrayBuffer>[] = []
  const inflate = new Inflate((bytes) => produced.push(bytes as Uint8Array<ArrayBuffer>))
  let silent = 0
  for (let at = start; at < start + member.packedSize; at += INPUT_BYTES) {
    const end = Math.min(at + INPUT_BYTES, start + member.packedSize)
    const input = await source.read(at, end)
    if (member.method === STORED) produced.push(input as Uint8Array<ArrayBuffer>)
    else {
      try {
        inflate.push(input, end === start + member.packedSize)
      } catch (error) {
        throw damaged(source, `${JSON.stringify(member.name)}: ${(error as Error).message}`)
      }
    }
    const pieces = produced.splice(0).filter((piece) => piece.length > 0)
    silent = pieces.length > 0 ? 0 : silent + 1
    if (silent > PIECES_WITHOUT_OUTPUT) throw damaged(source, `${JSON.stringify(member.name)} goes on after its end`)
    yield* pieces
  }
}

async function dataStart(source: ByteSource, member: ZipMember): Promise<number> {
  const { name, method, encrypted, headerStart, size, packedSize } = member
  const quoted = JSON.stringify(name)
  if (encrypted) throw damaged(source, `${quoted} is encrypted`)
  if (method !== STORED && method !== DEFLATED) throw damaged(source, `${quoted} is packed with method ${method}`)
  if (method === STORED && size !== packedSize) throw damaged(source, `${quoted} has two different sizes`)
  const view = viewOf(await source.read(headerStart, headerStart + HEADER_BYTES))
  const nameEnd = headerStart + HEADER_BYTES + view.getUint16(26, true)
  const start = nameEnd + view.getUint16(28, true)
  const fits = view.getUint32(0, true) === 0x04034b50 && start + packedSize <= source.size
  const found = fits ? new TextDecoder().decode(await source.read(headerStart + HEADER_BYTES, nameEnd)) : undefined
  if (found !== name) throw damaged(source, `${quoted} is not where the directory says`)
  return start
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

function damaged(source: ByteSource, reason: string): Error {
  return badFile(
    source,
    ` cannot be unpacked (${reason}): it was cut, damaged, or is not a zip archive. Copy or save it again.`,
  )
}
