/** Numbers as text, straight into bytes: strings for every number would take several times as long. */
import type { Encoder, StoredData } from './table.ts'

const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NEWLINE = 0x0a

/** No number is longer than -2.2250738585072014e-308, and each has a separator after it. */
const LONGEST_NUMBER = 25

/** Nine digits tell any two 32-bit floats apart; fewer than seven are never tried, as trailing zeros are dropped. */
const FLOAT_DIGITS = [7, 8, 9]
const POWERS_OF_TEN = Array.from({ length: 16 }, (_, power) => 10 ** power)

export function csvEncoder(cols: number, separator: string): Encoder {
  const between = separator.charCodeAt(0)
  let isFirst = true
  return {
    head: new Uint8Array(0),
    encode(data: StoredData) {
      const bytes = new Uint8Array(1 + data.length * LONGEST_NUMBER)
      const write = data instanceof Float32Array ? putFloat : putNumber
      let at = 0
      // As 0,1,2 it would be read as the header that pandas writes.
      if (isFirst && cols > 1 && countsUp(data, cols)) bytes[at++] = ZERO
      isFirst = false
      for (let i = 0, column = 0; i < data.length; i++) {
        at = write(bytes, at, data[i])
        column++
        bytes[at++] = column === cols ? NEWLINE : between
        if (column === cols) column = 0
      }
      return bytes.subarray(0, at)
    },
  }
}

/** The first row is 0, 1, 2 and so on. */
function countsUp(data: StoredData, cols: number): boolean {
  if (data.length < cols) return false
  for (let j = 0; j < cols; j++) if (!Object.is(data[j], j)) return false
  return true
}

/** Whole numbers digit by digit; all else as JavaScript spells it, NaN and infinity as NumPy does. Returns the end. */
function putNumber(bytes: Uint8Array, at: number, value: number): number {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    if (value >= 0) return putDigits(bytes, at, value)
    bytes[at] = MINUS
    return putDigits(bytes, at + 1, -value)
  }
  return putText(bytes, at, spelled(value))
}

/** The fewest digits that read back as the same 32-bit float: 0.1, not 0.10000000149011612. */
function putFloat(bytes: Uint8Array, at: number, value: number): number {
  if (Number.isSafeInteger(value) || !Number.isFinite(value)) return putNumber(bytes, at, value)
  const size = Math.abs(value)
  if (size < 1e-3 || size >= 1e7) return putText(bytes, at, shortest(value))
  const wholeDigits = Math.floor(Math.log10(size)) + 1
  for (const digits of FLOAT_DIGITS) {
    // The mantissa and the power are exact, so this quotient is the very number that reading the text gives.
    const decimals = Math.max(0, digits - wholeDigits)
    const mantissa = Math.round(size * POWERS_OF_TEN[decimals])
    if (Math.fround(mantissa / POWERS_OF_TEN[decimals]) !== size) continue
    if (value < 0) bytes[at++] = MINUS
    return putDecimal(bytes, at, mantissa, decimals)
  }
  return putText(bytes, at, shortest(value))
}

/** The fewest digits that give the same 32-bit float back. */
export function shortest(value: number): string {
  const candidates = FLOAT_DIGITS.map((digits) => Number(value.toPrecision(digits)))
  return String(candidates.find((candidate) => Math.fround(candidate) === value) ?? value)
}

function spelled(value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf'
}

/** mantissa / 10^decimals, without trailing zeros. */
function putDecimal(bytes: Uint8Array, at: number, mantissa: number, decimals: number): number {
  const power = POWERS_OF_TEN[decimals]
  const whole = Math.floor(mantissa / power)
  let fraction = mantissa - whole * power
  let end = putDigits(bytes, at, whole)
  let left = decimals
  while (left > 0 && fraction % 10 === 0) {
    fraction /= 10
    left--
  }
  if (left === 0) return end
  bytes[end] = POINT
  end += left + 1
  for (let i = 1; i <= left; i++) {
    bytes[end - i] = ZERO + (fraction % 10)
    fraction = Math.floor(fraction / 10)
  }
  return end
}

function putDigits(bytes: Uint8Array, at: number, value: number): number {
  let length = 1
  for (let bound = 10; value >= bound; bound *= 10) length++
  let rest = value
  for (let i = at + length - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10)
    bytes[i] = ZERO + (rest - tenth * 10)
    rest = tenth
  }
  return at + length
}

function putText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i)
  return at + text.length
}
