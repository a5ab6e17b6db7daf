/**
 * Makes demos/public/photos.jpg and photos.bin, the views and descriptors of the photo search of the demo site:
 * node scripts/build.mjs && npm --prefix bench/peers ci && node scripts/photo-file.mjs
 *
 * The views of `npm run bench -- retrieval`, of photographs of the Getty's Open Content Program (CC0), as one grey picture with
 * 16 views a line; and the descriptors of their strongest keypoints as codes of product quantization with 32 bytes each.
 *
 * photos.bin, gzipped: three lengths of parts as 32-bit numbers, little-endian, then the parts: the quantizer as `toBytes`
 * writes it; codes; for each descriptor the number of its view (16-bit), then x, y and width in quarters of a pixel (16-bit).
 */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { openDevice, trainQuantizer } from '../dist/index.js'

const SIDE = 160
const ACROSS = 16
const KEYPOINTS = 70
const BYTES = 32
const JPEG_QUALITY = 55
const SUBPIXELS = 4

await build({
  stdin: { contents: `export * from './pictures.ts'; export * from './descriptors.ts'`, resolveDir: 'bench/retrieval' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
  plugins: [
    {
      name: 'built-library',
      setup: ({ onResolve }) =>
        onResolve({ filter: /src\/index\.ts$/ }, () => ({ path: resolve('dist/index.js'), external: true })),
    },
  ],
  outfile: 'dist/bench/views.mjs',
})
const { loadPhotographs, viewsOf, describeViews } = await import(pathToFileURL(resolve('dist/bench/views.mjs')).href)
const photographs = await loadPhotographs()
if (!photographs) throw new Error('Install the photographs first: npm --prefix bench/peers ci')
const views = viewsOf(photographs, 1)
await writeFile('demos/public/photos.jpg', sheetOf(views))

const { vectors, images, places } = describeViews(views, KEYPOINTS)
const device = await openDevice({ kind: 'cpu' })
const quantizer = await trainQuantizer(vectors, { type: 'pq', m: BYTES, seed: 1, device })
const { data: codes } = await quantizer.encode(vectors, { device })
await device.close()
const numbers = Uint16Array.from({ length: 4 * vectors.rows }, (_, i) =>
  i % 4 === 0 ? images[i >> 2] : Math.round(SUBPIXELS * places[3 * (i >> 2) + (i % 4) - 1]),
)
const parts = [Buffer.from(quantizer.toBytes()), codes, Buffer.from(numbers.buffer)]
const lengths = Buffer.from(Uint32Array.from(parts, ({ length }) => length).buffer)
const file = gzipSync(Buffer.concat([lengths, ...parts]), { level: 9 })
await writeFile('demos/public/photos.bin', file)
console.log(`${views.length} views, ${vectors.rows} descriptors, photos.bin ${(file.length / 1e6).toFixed(2)} MB`)

function sheetOf(all) {
  const [width, height] = [ACROSS * SIDE, Math.ceil(all.length / ACROSS) * SIDE]
  const data = Buffer.alloc(4 * width * height, 255)
  all.forEach(({ picture }, view) => {
    const [left, top] = [(view % ACROSS) * SIDE, Math.floor(view / ACROSS) * SIDE]
    for (let i = 0; i < SIDE * SIDE; i++) {
      const at = 4 * ((top + Math.floor(i / SIDE)) * width + left + (i % SIDE))
      data.fill(Math.round(picture.data[i]), at, at + 3)
    }
  })
  const { encode } = createRequire(resolve('bench/peers/package.json'))('jpeg-js')
  return encode({ width, height, data }, JPEG_QUALITY).data
}
