/** What vectors and their codes weigh. */
import type { Matrix } from '../../src/index.ts'
import type { Codes } from './codes.ts'

export interface Memory {
  readonly vectors: number
  readonly codes: number
  /** What is needed besides the codes, once for all rows: codewords and rotation. */
  readonly books: number
}

export function memoryOf(vectors: Matrix, { quantizer, codes }: Pick<Codes, 'quantizer' | 'codes'>): Memory {
  const { books, rotation, offset } = quantizer.codec
  return {
    vectors: vectors.data.byteLength,
    codes: codes.data.byteLength,
    books: books.byteLength + (rotation?.byteLength ?? 0) + (offset?.byteLength ?? 0),
  }
}
