/** Zip archives by hand, so that damage reaches every field. */
import { crc32, inflateRawSync } from 'node:zlib'
import { joined } from '../mutations.ts'

export interface Member {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Members of a well-formed archive without comments. */
function membersOf(archive: Uint8Array): Member[] {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength)
  const end = archive.length - 22
  const members: Member[] = []
  let at = view.getUint32(end + 16, true)
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const method = view.getUint16(at + 10, true)
    const size = view.getUint32(at + 20, true)
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true))
    const name = Buffer.from(archive.subarray(at + 46, at + 46 + nameLength)).toString('utf8')
    const local = view.getUint32(at + 42, true)
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    const packed = archive.subarray(start, start + size)
    members.push({ name, bytes: method === 0 ? packed : inflateRawSync(packed) })
    at += 46 + nameLength + extra + comment
  }
  return members
}

/** The same archive without compression, its members edited, with checksums that fit. */
export function storedZip(
  archive: Uint8Array,
  edit: (members: Member[]) => Member[] = (all) => all,
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  const members = edit(membersOf(archive))
  let offset = 0
  for (const { name, bytes } of members) {
    const encoded = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(bytes.length, 14)
    common.writeUInt32LE(bytes.length, 18)
    common.writeUInt16LE(encoded.length, 22)
    const entry = Buffer.alloc(14)
    entry.writeUInt32LE(offset, 10)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), common, encoded, bytes)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, entry, encoded)
    offset += 30 + encoded.length + bytes.length
  }
  const listed = joined(...directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(offset, 16)
  return joined(...parts, listed, end)
}
