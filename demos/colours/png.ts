/** A PNG with a palette, by the PNG specification (third edition): what a picture of few colours weighs as a file. */
import { zlibSync } from 'fflate'

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const INDEXED = 3

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let c = byte
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c
})

function crc(bytes: Uint8Array): number {
  let c = 0xffffffff
  for (const byte of bytes) c = CRC_TABLE[(c ^ byte) & 0xff] ^ (c >>> 8)
  return (c ^ 0xffffffff) >>> 0
}

/** Length, name, data, checksum of name and data. */
function chunk(name: string, data: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(12 + data.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, data.length)
  bytes.set(new TextEncoder().encode(name), 4)
  bytes.set(data, 8)
  view.setUint32(8 + data.length, crc(bytes.subarray(4, 8 + data.length)))
  return bytes
}

/** As few bits for a pixel as the palette allows: 1, 2, 4 or 8. */
export function bitsFor(colours: number): 1 | 2 | 4 | 8 {
  return colours <= 2 ? 1 : colours <= 4 ? 2 : colours <= 16 ? 4 : 8
}

interface Header {
  readonly width: number
  readonly height: number
  readonly bits: number
  readonly colourType: number
}

/** Chunks between a header and an end. */
export function pngFile(
  { width, height, bits, colourType }: Header,
  chunks: readonly (readonly [name: string, data: ArrayLike<number>])[],
): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13)
  const view = new DataView(header.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  header.set([bits, colourType, 0, 0, 0], 8)
  return joined([
    Uint8Array.from(SIGNATURE),
    chunk('IHDR', header),
    ...chunks.map(([name, data]) => chunk(name, data)),
    chunk('IEND', []),
  ])
}

/** An index one beyond the palette is transparent: it gets an entry with alpha 0. */
export function indexedPng(
  indices: Uint8Array,
  { width, height }: Pick<Header, 'width' | 'height'>,
  palette: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const colours = palette.length / 3
  const transparent = indices.some((index) => index >= colours)
  const entries = colours + (transparent ? 1 : 0)
  const bits = bitsFor(entries)
  const colourBytes = new Uint8Array(3 * entries)
  colourBytes.set(palette)
  const alpha = new Uint8Array(entries).fill(255, 0, colours)
  return pngFile({ width, height, bits, colourType: INDEXED }, [
    ['PLTE', colourBytes],
    ...(transparent ? [['tRNS', alpha] as const] : []),
    ['IDAT', zlibSync(scanlines(indices, width, height, bits), { level: 9 })],
  ])
}

/** Each line begins with its filter, none; the first pixel of a byte is in its highest bits. */
function scanlines(indices: Uint8Array, width: number, height: number, bits: number): Uint8Array {
  const lineBytes = 1 + Math.ceil((width * bits) / 8)
  const out = new Uint8Array(lineBytes * height)
  const perByte = 8 / bits
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const shift = 8 - bits * ((x % perByte) + 1)
      out[y * lineBytes + 1 + Math.floor(x / perByte)] |= indices[y * width + x] << shift
    }
  }
  return out
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}
