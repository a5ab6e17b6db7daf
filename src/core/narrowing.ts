/**
 * 64-bit numbers as 32-bit floats: whether the rounding matters. Rounding to 24 bits is harmless to numbers that spread
 * about as far as they are large. It is not to 1,700,000,000 and 1,700,000,001, which become the same float.
 */
import { CentroidalError } from './errors.ts'

/** Rounding errors may be this share of the range of the values, measured over all columns. */
const HARMLESS_SHARE = 2 ** -14

/** What rounding does to the columns of a set of vectors. */
export class Narrowing {
  readonly #low: Float64Array
  readonly #high: Float64Array
  /** The largest rounding error of each column. */
  readonly #errors: Float64Array

  constructor(cols: number) {
    this.#low = new Float64Array(cols).fill(Number.POSITIVE_INFINITY)
    this.#high = new Float64Array(cols).fill(Number.NEGATIVE_INFINITY)
    this.#errors = new Float64Array(cols)
  }

  /** Whole rows. Values that are not finite, also as 32-bit floats, are left to those who read them. */
  add(values: ArrayLike<number>): void {
    const cols = this.#low.length
    for (let at = 0; at < values.length; at += cols) {
      for (let j = 0; j < cols; j++) {
        const value = values[at + j]
        const error = Math.abs(value - Math.fround(value))
        if (!(error < Number.POSITIVE_INFINITY)) continue
        if (value < this.#low[j]) this.#low[j] = value
        if (value > this.#high[j]) this.#high[j] = value
        if (error > this.#errors[j]) this.#errors[j] = error
      }
    }
  }

  /** False for some of the rows means false for all: more rows have a range at least as large. */
  get suspicious(): boolean {
    const { error, range } = this.#sizes()
    return error > HARMLESS_SHARE * range
  }

  /** Of all rows: differences between them would be lost. Rows that are all the same stay the same. */
  get loses(): boolean {
    return this.suspicious && this.#sizes().range > 0
  }

  /** `name` as it reads inside a sentence. */
  refusal(name: string): CentroidalError {
    const column = this.#errors.indexOf(this.#errors.reduce((most, error) => Math.max(most, error), 0))
    const [low, high] = [this.#low[column], this.#high[column]]
    const step = spacing(Math.max(Math.abs(low), Math.abs(high)))
    return new CentroidalError(
      'bad-data',
      `Column ${column} of ${name} goes from ${low} to ${high}, where 32-bit floats are ${step} apart: differences between rows would be lost. Subtract an offset, such as the mean of the column, before saving.`,
    )
  }

  #sizes(): { error: number; range: number } {
    let [errors, ranges] = [0, 0]
    for (let j = 0; j < this.#low.length; j++) {
      errors = Math.hypot(errors, this.#errors[j])
      // Infinite ends are those of a column without a finite value.
      ranges = Math.hypot(ranges, Math.max(0, this.#high[j] - this.#low[j]))
    }
    return { error: errors, range: ranges }
  }
}

/** The distance between neighbouring 32-bit floats at a value. */
function spacing(value: number): number {
  return Math.max(2 ** -149, 2 ** (Math.floor(Math.log2(value)) - 23))
}
