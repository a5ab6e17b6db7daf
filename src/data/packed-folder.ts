/**
 * A save in one piece: the files of its folder in a zip archive. For pages, which have no folders: they hand out the bytes as a
 * download, and load a file that somebody chose.
 */
import { zipSync } from 'fflate'
import { platform } from '#platform'
import type { ByteSource } from '../core/bytes.ts'
import { checksumOf } from '../core/checksum.ts'
import { CentroidalError } from '../core/errors.ts'
import type { FolderContents } from './folder-save.ts'
import { LARGEST_GROWTH, SAFE_BYTES } from './npz.ts'
import { type SavedFile, sealedJson } from './sealed-json.ts'
import { badFile } from './table.ts'
import { openMember, readDirectory } from './zip.ts'

/** Of a save that was never staged: there is no such folder. */
const STAGING = '.saving-0000000000000000'

export function packedFolder(contents: FolderContents): Uint8Array<ArrayBuffer> {
  const files = filesOf(contents)
  return zipSync(files, { level: 6, mtime: '1980-01-02' }) as Uint8Array<ArrayBuffer>
}

function filesOf(contents: FolderContents, inner?: string): Record<string, Uint8Array> {
  const { format, version, facts } = contents
  const files: Record<string, Uint8Array> = {}
  for (const [name, within] of Object.entries(contents.folders ?? {})) {
    for (const [file, bytes] of Object.entries(filesOf(within, name))) files[`${name}/${file}`] = bytes
  }
  for (const [name, parts] of Object.entries(contents.files)) files[name] = joined(parts)
  const listing = {
    staging: inner === undefined ? STAGING : `../${STAGING}/${inner}`,
    files: Object.entries(files).map(
      ([name, bytes]): SavedFile => ({ name, bytes: bytes.length, checksum: checksumOf(bytes) }),
    ),
  }
  return { [contents.json]: sealedJson({ format, version, ...listing, ...facts }), ...files }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** The files of a packed save, by their names. */
export async function openPacked(blob: Blob): Promise<{ name: string; open(name: string): Promise<ByteSource> }> {
  const source = await platform.openBytes(blob)
  const members = new Map((await readDirectory(source)).map((member) => [member.name, member]))
  const total = [...members.values()].reduce((sum, { size }) => sum + size, 0)
  if (total > SAFE_BYTES && total > LARGEST_GROWTH * source.size) {
    throw badFile(source, ` would grow from ${source.size} to ${total} bytes when unpacked: it is damaged or no save.`)
  }
  return {
    name: source.name,
    async open(name) {
      const member = members.get(name)
      if (member) return openMember(source, member)
      throw new CentroidalError('bad-file', `${JSON.stringify(source.name)} does not contain ${name}: save it again.`, {
        cause: { code: 'ENOENT' },
      })
    },
  }
}
