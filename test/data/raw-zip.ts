import { crc32 } from 'node:zlib'
import { concat } from './memory-source.ts'

export interface RawMember {
  readonly name: string
  /** As it stands in the archive. */
  readonly packed: Uint8Array
  readonly method?: number
  readonly flags?: number
  /** What the directory says, true or not. Default: that of `packed`. */
  readonly size?: number
  readonly crc?: number
}

/** A zip archive that says whatever it is told to say. */
export function rawZip(members: readonly RawMember[], options: { zip64?: boolean; comment?: string } = {}): Uint8Array {
  const bodies: Uint8Array[] = []
  const entries: Uint8Array[] = []
  let offset = 0
  for (const { name, packed, method = 0, flags = 0, size = packed.length, crc = crc32(packed) } of members) {
    const title = new TextEncoder().encode(name)
    // Version, flags, method, time and date, CRC-32, sizes, length of the name: the same in both places.
    const common = (extra: number, large: boolean): Uint8Array =>
      concat(
        u16(45, flags, method, 0, 0x21),
        u32(crc, large ? 0xffffffff : packed.length, large ? 0xffffffff : size),
        u16(title.length, extra),
      )
    const header = concat(u32(0x04034b50), common(0, false), title)
    const large = options.zip64 === true
    const extra = large ? concat(u16(1, 24), u64(size, packed.length, offset)) : new Uint8Array(0)
    entries.push(
      concat(
        u32(0x02014b50),
        u16(45),
        common(extra.length, large),
        u16(0, 0, 0),
        u32(0),
        u32(large ? 0xffffffff : offset),
      ),
      title,
      extra,
    )
    bodies.push(header, packed)
    offset += header.length + packed.length
  }
  const directory = concat(...entries)
  const count = members.length
  const comment = new TextEncoder().encode(options.comment ?? '')
  const end64 = options.zip64
    ? concat(
        u32(0x06064b50),
        u64(44),
        u16(45, 45),
        u32(0, 0),
        u64(count, count, directory.length, offset),
        u32(0x07064b50, 0),
        u64(offset + directory.length),
        u32(1),
      )
    : new Uint8Array(0)
  const end = options.zip64
    ? concat(u32(0x06054b50), u16(0, 0, 0xffff, 0xffff), u32(0xffffffff, 0xffffffff), u16(comment.length), comment)
    : concat(u32(0x06054b50), u16(0, 0, count, count), u32(directory.length, offset), u16(comment.length), comment)
  return concat(...bodies, directory, end64, end)
}

const u16 = (...numbers: number[]): Uint8Array => new Uint8Array(Uint16Array.from(numbers).buffer)
const u32 = (...numbers: number[]): Uint8Array => new Uint8Array(Uint32Array.from(numbers).buffer)
const u64 = (...numbers: number[]): Uint8Array => new Uint8Array(BigUint64Array.from(numbers.map(BigInt)).buffer)
