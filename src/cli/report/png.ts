/** Grey images as PNG files: the signature and three chunks. */
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Pixels row by row, one byte each. */
export function encodeGrayPng(pixels: Uint8Array, width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits a pixel, grey; compression, filter and interlace have only this choice or are not wanted.
  header.set([8, 0, 0, 0, 0], 8)
  // Every row begins with the number of its filter. Means of images are smooth, so differences to the row above pack best.
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1)
    rows[start] = 2
    for (let x = 0; x < width; x++) {
      const above = y === 0 ? 0 : pixels[(y - 1) * width + x]
      rows[start + 1 + x] = pixels[y * width + x] - above
    }
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}
