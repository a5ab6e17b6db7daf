/**
 * Codes outside the device: always bytes, one row a vector. Up to 256 codewords a code takes 8, 4, 2
 * or 1 bits, the first code in the lowest bits; above, 32 bits, lowest byte first.
 */
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix } from '../core/matrix.ts'
import { codeStride } from '../kernels/encode.ts'
import { codeLayout } from '../kernels/scan-codes.ts'

export interface CodeShape {
  readonly m: number
  readonly codewords: number
}

/** Bytes of the codes of one vector. */
export function codeRowBytes({ m, codewords }: CodeShape): number {
  const { bits, cells } = codeLayout(m, codewords)
  return bits === 32 ? cells * 4 : cells
}

/** What `encode` left on the device, a code a subspace, as rows of bytes. */
export function packCodes(found: ArrayBuffer, rows: number, shape: CodeShape, out: Uint8Array, first: number): void {
  const { m, codewords } = shape
  const { bits, perCell } = codeLayout(m, codewords)
  const stride = codeStride(m)
  const width = codeRowBytes(shape)
  const base = first * width
  if (bits === 32) {
    const words = new Uint32Array(found)
    const view = new DataView(out.buffer, out.byteOffset)
    for (let i = 0; i < rows; i++)
      for (let s = 0; s < m; s++) view.setUint32(base + i * width + s * 4, words[i * stride + s], true)
    return
  }
  const bytes = new Uint8Array(found)
  if (perCell === 1) {
    if (stride === width) out.set(bytes.subarray(0, rows * width), base)
    else for (let i = 0; i < rows; i++) out.set(bytes.subarray(i * stride, i * stride + m), base + i * width)
    return
  }
  for (let i = 0; i < rows; i++) {
    for (let s = 0; s < m; s++) {
      out[base + i * width + Math.floor(s / perCell)] |= bytes[i * stride + s] << ((s % perCell) * bits)
    }
  }
}

/** Codes one by one: [rows][m]. */
export function unpackCodes(codes: Matrix, shape: CodeShape): Uint32Array {
  const { m, codewords } = shape
  checkCodes(codes, shape)
  const { bits, perCell } = codeLayout(m, codewords)
  const data = codes.data as Uint8Array
  const out = new Uint32Array(codes.rows * m)
  const mask = 2 ** bits - 1
  const view = new DataView(data.buffer, data.byteOffset)
  for (let i = 0; i < codes.rows; i++) {
    for (let s = 0; s < m; s++) {
      const cell = i * codes.cols + Math.floor(s / perCell)
      const code =
        bits === 32 ? view.getUint32(i * codes.cols + s * 4, true) : (data[cell] >> ((s % perCell) * bits)) & mask
      if (code >= codewords) throw strangeCode(i, code, codewords)
      out[i * m + s] = code
    }
  }
  return out
}

/** Rows of codes as scan-codes reads them: cells padded to a multiple of four. */
export function paddedCodes(codes: Matrix, { m, codewords }: CodeShape, start: number, end: number): Uint8Array {
  const { bits, cells } = codeLayout(m, codewords)
  const width = codes.cols
  const stride = codeStride(cells) * (bits === 32 ? 4 : 1)
  const data = codes.data as Uint8Array
  if (stride === width) return data.subarray(start * width, end * width)
  const out = new Uint8Array((end - start) * stride)
  for (let i = start; i < end; i++) out.set(data.subarray(i * width, (i + 1) * width), (i - start) * stride)
  return out
}

export function checkCodes(codes: Matrix, shape: CodeShape): void {
  const width = codeRowBytes(shape)
  if (codes.data instanceof Uint8Array && codes.cols === width) return
  throw new CentroidalError(
    'bad-data',
    `Codes of ${codes.cols} ${codes.data instanceof Uint8Array ? 'bytes' : 'floats'} a vector do not match this quantizer, whose codes have ${width} bytes: encode the vectors with this quantizer.`,
  )
}

/** A code that the quantizer has no word for would be read from behind its table. */
export function requireKnownCodes(codes: Matrix, shape: CodeShape): void {
  checkCodes(codes, shape)
  const { bits } = codeLayout(shape.m, shape.codewords)
  if (shape.codewords < 2 ** bits) unpackCodes(codes, shape)
}

function strangeCode(row: number, code: number, codewords: number): CentroidalError {
  return new CentroidalError(
    'bad-data',
    `Row ${row} of the codes holds code ${code}, but the quantizer has ${codewords} codewords: encode the vectors with this quantizer.`,
  )
}

export function emptyCodes(shape: CodeShape): Matrix {
  return matrix(new Uint8Array(0), 0, codeRowBytes(shape))
}
