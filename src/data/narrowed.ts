/** Tables of 64-bit floats and 32-bit integers as sources of vectors: in 64 bits, and as 32-bit floats where nothing is lost. */
import type { VectorSource } from '../core/matrix.ts'
import { Narrowing } from '../core/narrowing.ts'
import { readAs } from './convert.ts'
import { bytesPerValue, rowsPerPiece, type Table } from './table.ts'

/** Rows that tell, for most files, that rounding does no harm. */
const SAMPLED_ROWS = 4096

export function tableSource(table: Table): VectorSource {
  const { rows, cols, type, name, notes } = table
  const about = {
    ...(table.names ? { names: () => table.names!() } : {}),
    ...(notes === undefined ? {} : { notes }),
    close: () => table.close(),
  }
  if (type === 'f32' || type === 'u8') {
    // The table gives arrays of the type it declares.
    const readInto = table.readInto && { readInto: table.readInto as NonNullable<VectorSource['readInto']> }
    return { rows, cols, type, name, read: table.read as VectorSource['read'], ...readInto, ...about }
  }
  let checked: Promise<void> | undefined
  return {
    rows,
    cols,
    type: 'f32',
    name,
    async read(start, end) {
      checked ??= requireNarrow(table)
      await checked
      return readAs(table, 'f32', start, end)
    },
    async read64(start, end) {
      const data = await table.read(start, end)
      return data instanceof Float64Array ? data : Float64Array.from(data)
    },
    ...about,
  }
}

/** All rows are checked only if the first ones are inconclusive. */
async function requireNarrow(table: Table): Promise<void> {
  const { rows, cols, type } = table
  const narrowing = new Narrowing(cols)
  const step = Math.min(SAMPLED_ROWS, rowsPerPiece(cols, bytesPerValue(type)))
  for (let row = 0; row < rows; row += step) {
    narrowing.add(await table.read(row, Math.min(row + step, rows)))
    if (!narrowing.suspicious) return
  }
  if (narrowing.loses) throw narrowing.refusal(JSON.stringify(table.name))
}
