/** The bundled handwritten digits: 28 x 28 pixels each, one byte a pixel. */
import type { Matrix } from '../../src/index.ts'

export const DIGIT_SIDE = 28
export const DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE
export const DIGIT_COUNT = 5000

export interface Digits {
  readonly images: Matrix
  /** 0 to 9. */
  readonly classes: Uint8Array
}

/** Takes apart what digits-file.ts packed. */
export function unpackDigits(packed: Uint8Array, count = DIGIT_COUNT): Digits {
  if (packed.length !== DIGIT_COUNT * (DIGIT_PIXELS + 1)) throw new Error('The file of digits is not complete.')
  return {
    images: { data: packed.slice(0, count * DIGIT_PIXELS), rows: count, cols: DIGIT_PIXELS },
    classes: packed.slice(DIGIT_COUNT * DIGIT_PIXELS).subarray(0, count),
  }
}

/** From a page: `root` is where the site begins, seen from it. */
export async function loadDigits(count = DIGIT_COUNT, root = '../'): Promise<Digits> {
  const response = await fetch(`${root}digits.bin`)
  if (!response.ok || !response.body) throw new Error('The digits could not be loaded: is the network there?')
  const plain = response.body.pipeThrough(new DecompressionStream('gzip'))
  return unpackDigits(new Uint8Array(await new Response(plain).arrayBuffer()), count)
}
