/** A .npy file of bytes about random places, written in pieces: no matter how large, it takes little memory. */
import { closeSync, openSync, writeSync } from 'node:fs'

const COLS = 128
/** Rows written at a time. */
const PIECE = 65_536

export function writeBlobs(path: string, rows: number, places: number): void {
  let state = 0x9e3779b9
  const draw = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  const centers = Uint8Array.from({ length: places * COLS }, () => 40 + (draw() % 176))
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${rows}, ${COLS}), }`.padEnd(117)
  const header = Buffer.from(`\x93NUMPY\x01\x00${String.fromCharCode(118, 0)}${text}\n`, 'latin1')
  const file = openSync(path, 'w')
  try {
    writeSync(file, header)
    const data = new Uint8Array(PIECE * COLS)
    for (let first = 0; first < rows; first += PIECE) {
      const count = Math.min(PIECE, rows - first)
      for (let row = 0; row < count; row++) {
        const place = (draw() % places) * COLS
        // Four columns from the bytes of one number: up to 32 away from the place.
        for (let j = 0; j < COLS; j += 4) {
          const noise = draw()
          for (let i = 0; i < 4; i++)
            data[row * COLS + j + i] = centers[place + j + i] + ((noise >>> (8 * i)) & 63) - 32
        }
      }
      writeSync(file, data.subarray(0, count * COLS))
    }
  } finally {
    closeSync(file)
  }
}
