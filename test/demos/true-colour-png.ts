/** A PNG of red, green, blue and alpha, byte for byte as given: pictures to load that no codec changes. */
import { deflateSync } from 'node:zlib'
import type { Picture } from '../../demos/colours/picture.ts'
import { pngFile } from '../../demos/colours/png.ts'

const TRUE_COLOUR_ALPHA = 6

export function trueColourPng({ width, height, data }: Picture): Buffer {
  const lines = Buffer.alloc(height * (1 + 4 * width))
  for (let y = 0; y < height; y++) lines.set(data.subarray(4 * width * y, 4 * width * (y + 1)), y * (1 + 4 * width) + 1)
  const size = { width, height, bits: 8, colourType: TRUE_COLOUR_ALPHA }
  return Buffer.from(pngFile(size, [['IDAT', deflateSync(lines)]]))
}
