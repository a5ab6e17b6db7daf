/** Just enough of the tar format to unpack an archive that ships inside an npm package: plain files, short names. */
export interface TarFile {
  readonly name: string
  readonly bytes: Uint8Array
}

const BLOCK = 512

export function* readTar(archive: Uint8Array): Generator<TarFile> {
  const text = (start: number, length: number): string =>
    new TextDecoder().decode(archive.subarray(start, start + length)).replace(/\0.*$/s, '')
  for (let offset = 0; offset + BLOCK <= archive.length; ) {
    const name = text(offset, 100)
    if (name === '') return
    const size = Number.parseInt(text(offset + 124, 12), 8) || 0
    const kind = text(offset + 156, 1)
    const start = offset + BLOCK
    if (kind === '0' || kind === '') yield { name, bytes: archive.subarray(start, start + size) }
    offset = start + Math.ceil(size / BLOCK) * BLOCK
  }
}
