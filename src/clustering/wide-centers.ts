/** Centres in the units of the vectors, in 64 bits, for functions of the caller; and back. */
import { badArgument } from '../core/errors.ts'
import type { WideMatrix } from '../core/matrix.ts'
import { type RunState, readCenters } from './run-state.ts'

export async function wideCenters(state: RunState): Promise<WideMatrix> {
  return widened(state, await readCenters(state))
}

/** k x d numbers of the frame. */
export function widened({ points, k }: RunState, values: Float32Array | Float64Array): WideMatrix {
  const { cols, frame } = points
  const { shift, scale } = frame
  const data = Float64Array.from(values, (value, i) => value / scale + (shift ? shift[i % cols] : 0))
  return { data, rows: k, cols }
}

/** Numbers that a caller returned, in the frame; of length one where centres are. */
export function narrowed({ points, k, unit }: RunState, given: unknown, thing: string): Float32Array {
  const { cols, frame } = points
  const { shift, scale } = frame
  const list = given as ArrayLike<number> | null | undefined
  if (typeof list !== 'object' || list === null || list.length !== k * cols) {
    throw badArgument(thing, given, `return ${k} x ${cols} numbers: a centre for each cluster.`)
  }
  const inner = new Float64Array(k * cols)
  for (let i = 0; i < inner.length; i++) {
    if (!Number.isFinite(list[i])) throw badArgument(`a number in ${thing}`, list[i], 'return finite numbers.')
    inner[i] = (list[i] - (shift ? shift[i % cols] : 0)) * scale
  }
  if (unit) bringToLengthOne(inner, cols, thing)
  return Float32Array.from(inner)
}

function bringToLengthOne(values: Float64Array, cols: number, thing: string): void {
  for (let from = 0; from < values.length; from += cols) {
    const row = values.subarray(from, from + cols)
    const length = Math.hypot(...row)
    if (length === 0)
      throw badArgument(
        `the length of a row of ${thing}`,
        0,
        'with metric cosine, all centres must have a length above 0.',
      )
    for (let j = 0; j < cols; j++) row[j] /= length
  }
}
