/** Rows as small grey pictures: ink on nothing, so that they fit light and dark. */
import type { Matrix } from '../../src/index.ts'
import { DIGIT_PIXELS, DIGIT_SIDE } from '../data/digits.ts'

/** Rows of 784 numbers are taken for pictures of 28 x 28. */
export function arePictures({ cols }: Pick<Matrix, 'cols'>): boolean {
  return cols === DIGIT_PIXELS
}

/** The largest number of some rows: what full ink is. */
export function fullInk({ data, cols }: Matrix): number {
  let most = 0
  for (let i = 0; i < Math.min(data.length, 200 * cols); i++) if (data[i] > most) most = data[i]
  return most || 1
}

export function thumbnail(m: Matrix, row: number, full: number, ink: readonly number[] = [0, 0, 0]): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = DIGIT_SIDE
  canvas.height = DIGIT_SIDE
  canvas.className = 'thumb'
  // Screen readers take the name of the button around it.
  canvas.ariaHidden = 'true'
  const image = new ImageData(DIGIT_SIDE, DIGIT_SIDE)
  for (let i = 0; i < DIGIT_PIXELS; i++) {
    image.data.set(ink, 4 * i)
    image.data[4 * i + 3] = (255 * m.data[row * DIGIT_PIXELS + i]) / full
  }
  canvas.getContext('2d')?.putImageData(image, 0, 0)
  return canvas
}
