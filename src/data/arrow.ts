/** Arrow and Feather (version 2), by @uwdata/flechette. The file is read whole; columns are views of its bytes. */
import type { DataType } from '@uwdata/flechette'
import type { ByteSource } from '../core/bytes.ts'
import { checkArrowMetadata } from './arrow-metadata.ts'
import { isList, nameOf, numberOf, vectorInto } from './column-values.ts'
import { type Column, chooseColumns, type ReadOptions } from './columns.ts'
import { decompressLz4Frame } from './lz4-frame.ts'
import { LARGEST_GROWTH, SAFE_BYTES } from './npz.ts'
import { optionalPackage, readBy } from './optional-package.ts'
import { allocate, badFile, checkRows, type Table } from './table.ts'

const PACKAGES = '@uwdata/flechette hyparquet-compressors'

type Flechette = typeof import('@uwdata/flechette')
type Compressors = typeof import('hyparquet-compressors')

export async function openArrow(source: ByteSource, options: ReadOptions = {}): Promise<Table> {
  const flechette = await optionalPackage<Flechette>('@uwdata/flechette', 'Reading Arrow', PACKAGES)
  const bytes = await source.read(0, source.size)
  const decoded = await readBy(source.name, 'Arrow', async () => {
    checkArrowMetadata(bytes)
    await registerCodecs(flechette)
    return flechette.tableFromIPC(bytes, { useBigInt: true })
  })
  const { fields } = decoded.schema
  const columns = fields.map(({ name, type }): Column => ({ name: name ?? '', kind: columnKind(flechette, type) }))
  const { vectors, names, notes } = chooseColumns(JSON.stringify(source.name), columns, options, true)
  const rows = decoded.numRows
  // What cannot be is found before the columns are decoded.
  if (!Number.isSafeInteger(rows) || rows < 0) {
    throw badFile(source, ' does not say how many rows it has: it was damaged, copy or save it again.')
  }
  const expected = rows * vectors.length * 4
  if (expected > SAFE_BYTES && expected > LARGEST_GROWTH * source.size) {
    throw badFile(
      source,
      ` says it has ${rows} rows in ${source.size} bytes, which looks like a damaged or malicious file.`,
    )
  }
  const values = await readBy(source.name, 'Arrow', () => vectors.map((i) => valuesOf(decoded.getChildAt(i).toArray())))
  const [only] = vectors
  const isVector = columns[only].kind === 'list'
  const cols = isVector ? vectorLength(source, fields[only].type, values[0]) : vectors.length
  const type = vectors.every((i) => isNarrow(flechette, fields[i].type)) ? 'f32' : 'f64'
  return {
    rows,
    cols,
    type,
    name: source.name,
    async read(start, end) {
      checkRows({ rows, name: source.name }, start, end)
      const out =
        type === 'f32'
          ? allocate('f32', (end - start) * cols, source.name)
          : allocate('f64', (end - start) * cols, source.name)
      values.forEach((column, j) => {
        const place = columns[vectors[j]].name
        for (let row = start; row < end; row++) {
          if (isVector) vectorInto(source, column[row], cols, out, (row - start) * cols, { row, column: place })
          else out[(row - start) * cols + j] = numberOf(source, column[row], { row, column: place })
        }
      })
      return out
    },
    ...(names === undefined
      ? {}
      : {
          names: () =>
            readBy(source.name, 'Arrow', () => Array.from(valuesOf(decoded.getChildAt(names).toArray()), nameOf)),
        }),
    ...(notes.length > 0 ? { notes } : {}),
    close: () => source.close(),
  }
}

/** Feather files are usually compressed; only then the package is needed. */
async function registerCodecs({ setCompressionCodec, getCompressionCodec, CompressionType }: Flechette): Promise<void> {
  if (getCompressionCodec(CompressionType.ZSTD) && getCompressionCodec(CompressionType.LZ4_FRAME)) return
  const none = undefined as Compressors | undefined
  const compressors = await optionalPackage<Compressors>('hyparquet-compressors', '', '').catch(() => none)
  if (compressors === undefined) return
  const { decompressZstd, decompressLz4Raw } = compressors
  const encode = (): never => {
    throw new Error('compressing is not supported')
  }
  setCompressionCodec(CompressionType.ZSTD, { encode, decode: (data) => decompressZstd(data) })
  setCompressionCodec(CompressionType.LZ4_FRAME, {
    encode,
    decode: (data) => decompressLz4Frame(data, decompressLz4Raw),
  })
}

function valuesOf(values: unknown): ArrayLike<unknown> {
  if (isList(values)) return values
  throw new Error('a column has no values')
}

function vectorLength(source: ByteSource, type: DataType, values: ArrayLike<unknown>): number {
  const stride = (type as { stride?: unknown }).stride
  if (typeof stride === 'number' && stride > 0) return stride
  if (values.length === 0) {
    throw badFile(source, ' has no rows, so that the length of its vectors is not known: at least one row is needed.')
  }
  const [first] = Array.from({ length: 1 }, () => values[0])
  if (isList(first) && first.length > 0) return first.length
  throw badFile(source, ', row 0: there is no vector; remove the row.')
}

function columnKind({ Type }: Flechette, type: DataType): Column['kind'] {
  const texts: number[] = [Type.Utf8, Type.LargeUtf8, Type.Utf8View]
  const lists: number[] = [Type.List, Type.LargeList, Type.FixedSizeList, Type.ListView, Type.LargeListView]
  const isNumber = (id: number): boolean =>
    id === Type.Int || id === Type.Float || id === Type.Bool || id === Type.Decimal
  const { typeId } = type
  if (isNumber(typeId)) return 'number'
  if (texts.includes(typeId)) return 'text'
  if (typeId === Type.Dictionary) {
    const { dictionary } = type as { dictionary?: DataType }
    return dictionary !== undefined && texts.includes(dictionary.typeId) ? 'text' : 'other'
  }
  const child = lists.includes(typeId) ? childOf(type) : undefined
  return child !== undefined && isNumber(child.typeId) ? 'list' : 'other'
}

function childOf(type: DataType): DataType | undefined {
  return (type as { children?: readonly { readonly type: DataType }[] }).children?.[0]?.type
}

/** Numbers of the type are exact as 32-bit floats. */
function isNarrow({ Type }: Flechette, type: DataType): boolean {
  const inner = childOf(type) ?? type
  const { precision, bitWidth } = inner as { precision?: number; bitWidth?: number }
  if (inner.typeId === Type.Float) return precision !== 2
  return inner.typeId === Type.Bool || (inner.typeId === Type.Int && bitWidth !== undefined && bitWidth <= 16)
}
