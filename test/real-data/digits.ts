/** Handwritten digits from files of a package: for tests in Node. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Matrix, matrix } from '../../src/index.ts'

const PIXELS = 28 * 28

/** The first `each` images of each digit, as bytes. */
export async function digits(each: number): Promise<Matrix> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist')), 'digits')
  const pixels = new Uint8Array(10 * each * PIXELS)
  for (let digit = 0; digit < 10; digit++) {
    const { data } = JSON.parse(await readFile(join(folder, `${digit}.json`), 'utf8')) as { data: number[] }
    const ink = data.slice(0, each * PIXELS).map((value) => Math.round(value * 255))
    pixels.set(ink, digit * each * PIXELS)
  }
  return matrix(pixels, 10 * each, PIXELS)
}
