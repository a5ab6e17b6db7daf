/**
 * Sources that callers write are checked in one place: their shape when they come in, and everything they
 * read. A source that breaks its contract gives an error that says how, not a hang or numbers from elsewhere.
 */
import { CentroidalError, show } from './errors.ts'
import type { VectorSource } from './matrix.ts'

const checked = new WeakSet<VectorSource>()

/** The same source; what it reads is checked. */
export function checkedSource(source: VectorSource, name: string): VectorSource {
  if (checked.has(source)) return source
  const { rows, cols, type, sparse } = source
  const own = typeof source.name === 'string' && source.name !== '' ? source.name : name
  if (!Number.isSafeInteger(rows) || rows < 0 || !Number.isSafeInteger(cols) || cols < 1) {
    throw bad(
      `${own} has ${show(rows)} rows and ${show(cols)} columns: a source needs a whole number of rows and at least one column.`,
    )
  }
  if (type !== 'f32' && type !== 'u8') {
    throw bad(`${own} has elements of type ${show(type)}: a source needs type 'f32' or 'u8'.`)
  }
  if (sparse !== undefined && (sparse.rows !== rows || sparse.cols !== cols)) {
    throw bad(`${own} is ${rows} x ${cols} and its sparse rows are ${sparse.rows} x ${sparse.cols}: both must agree.`)
  }
  const result: VectorSource = {
    rows,
    cols,
    type,
    name: own,
    sparse,
    async read(start, end) {
      const data = await readFrom(source, own, start, end)
      const Kind = type === 'u8' ? Uint8Array : Float32Array
      if (data instanceof Kind && data.length === (end - start) * cols) return data
      const got = ArrayBuffer.isView(data) ? `${data.constructor.name} of ${(data as Float32Array).length}` : show(data)
      throw bad(
        `Reading rows ${start} to ${end} of ${own} gave ${got}: read must return a ${Kind.name} of ${(end - start) * cols} numbers.`,
      )
    },
    ...(source.close ? { close: async () => source.close?.() } : {}),
  }
  checked.add(result)
  return result
}

async function readFrom(source: VectorSource, name: string, start: number, end: number): Promise<unknown> {
  try {
    return await source.read(start, end)
  } catch (error) {
    // Stopping is not a failure, and errors of this library already say what to do.
    if (error instanceof CentroidalError || (error as Error | undefined)?.name === 'AbortError') throw error
    const reason = error instanceof Error ? error.message : show(error)
    throw new CentroidalError('bad-data', `Reading rows ${start} to ${end} of ${name} failed: ${reason}`, {
      cause: error,
    })
  }
}

function bad(message: string): CentroidalError {
  return new CentroidalError('bad-data', message.charAt(0).toUpperCase() + message.slice(1))
}
