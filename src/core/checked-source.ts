/**
 * Sources that callers write are checked in one place: their shape when they come in, and everything they
 * read. A source that breaks its contract gives an error that says how, not a hang or numbers from elsewhere.
 */
import { badData, checkShape, choice } from './arguments.ts'
import { CentroidalError, capital, show } from './errors.ts'
import type { ElementType, VectorSource } from './matrix.ts'
import { isSparse, type SparseMatrix, sparseMatrix } from './sparse.ts'

/** Sources that were checked already: those of the library, and those of callers that were wrapped. */
const checked = new WeakSet<VectorSource>()

/** A source of the library, which needs no check. */
export function trustedSource(source: VectorSource): VectorSource {
  checked.add(source)
  return source
}

/** The same source; what it reads is checked. `thing` names it in errors if it has no name of its own. */
export function checkedSource(given: VectorSource, thing: string): VectorSource {
  if (checked.has(given)) return given
  const { rows, cols, sparse, close, shards } = given
  const name = typeof given.name === 'string' && given.name !== '' ? given.name : thing
  checkShape(rows, cols, `source (${thing})`)
  const type = choice<ElementType>(['f32', 'u8'])(given.type, `the type of ${thing}`)
  if (close !== undefined && typeof close !== 'function') {
    throw badData(`Method close of ${thing} is ${show(close)}: give a function or leave it out.`)
  }
  return trustedSource({
    rows,
    cols,
    type,
    name,
    ...(sparse === undefined ? {} : { sparse: checkedSparse(sparse, rows, cols, name) }),
    ...(shards === undefined ? {} : { shards: checkedShards(shards, rows, name) }),
    async read(start, end) {
      const data = await attempt(() => given.read(start, end), name, start, end)
      const Kind = type === 'u8' ? Uint8Array : Float32Array
      if (data instanceof Kind && data.length === (end - start) * cols) return data
      const got = ArrayBuffer.isView(data) ? `${data.constructor.name} of ${(data as Float32Array).length}` : show(data)
      throw badData(
        `Reading rows ${start} to ${end} of ${name} gave ${got}: read must return a ${Kind.name} of ${(end - start) * cols} numbers.`,
      )
    },
    ...(given.readInto === undefined ? {} : { readInto: checkedReadInto(given, name) }),
    ...(given.read64 === undefined ? {} : { read64: checkedRead64(given, name) }),
    ...(typeof given.names === 'function' ? { names: () => given.names!() } : {}),
    ...(given.notes === undefined ? {} : { notes: given.notes }),
    ...(close === undefined ? {} : { close: async () => given.close?.() }),
  })
}

function checkedShards(shards: unknown, rows: number, name: string): readonly number[] {
  const whole = Array.isArray(shards) && shards.every((count) => Number.isSafeInteger(count) && count >= 0)
  if (whole && shards.reduce((sum, count) => sum + count, 0) === rows) return [...shards]
  throw badData(`The shards of ${name} are ${show(shards)}: give row counts that add up to ${rows}.`)
}

function checkedSparse(sparse: unknown, rows: number, cols: number, name: string): SparseMatrix {
  if (!isSparse(sparse)) throw badData(`The sparse rows of ${name} are ${show(sparse)}: give a SparseMatrix.`)
  if (sparse.rows === rows && sparse.cols === cols) return sparseMatrix(sparse, rows, cols, name)
  throw badData(
    `${capital(name)} is ${rows} x ${cols} and its sparse rows ${show(sparse.rows)} x ${show(sparse.cols)}: give the same shape.`,
  )
}

function checkedReadInto(given: VectorSource, name: string): NonNullable<VectorSource['readInto']> {
  if (typeof given.readInto !== 'function') {
    throw badData(`Method readInto of ${name} is ${show(given.readInto)}: give a function or leave it out.`)
  }
  return async (start, into) => {
    await attempt(async () => given.readInto?.(start, into), name, start, start + into.length / given.cols)
  }
}

function checkedRead64(given: VectorSource, name: string): NonNullable<VectorSource['read64']> {
  if (typeof given.read64 !== 'function') {
    throw badData(`Method read64 of ${name} is ${show(given.read64)}: give a function or leave it out.`)
  }
  return async (start, end) => {
    const data = await attempt(() => given.read64!(start, end), name, start, end)
    const length = (end - start) * given.cols
    if (data instanceof Float64Array && data.length === length) return data
    throw badData(
      `Reading rows ${start} to ${end} of ${name} in 64 bits gave ${show(data)}: read64 must return a Float64Array of ${length} numbers.`,
    )
  }
}

async function attempt(read: () => Promise<unknown>, name: string, start: number, end: number): Promise<unknown> {
  try {
    return await read()
  } catch (error) {
    // Stopping is not a failure, and errors of this library already say what to do.
    if (error instanceof CentroidalError || (error as Error | undefined)?.name === 'AbortError') throw error
    const reason = error instanceof Error ? error.message : show(error)
    throw new CentroidalError('bad-data', `Reading rows ${start} to ${end} of ${name} failed: ${reason}`, {
      cause: error,
    })
  }
}
