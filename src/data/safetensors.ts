/**
 * .safetensors: the length of a header (64 bits, little-endian), the header as JSON with type, shape and place of each
 * tensor, then the numbers. Rows are read on demand.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { ReadOptions } from './columns.ts'
import { type RawType, rawBytes, rawTable } from './raw-array.ts'
import { badFile, type Table } from './table.ts'

const LENGTH_BYTES = 8
/** The limit of the reference implementation. */
const LONGEST_HEADER = 100_000_000
const MOST_LISTED = 12

/** A Map, because the key comes from the file. */
const TYPES: ReadonlyMap<string, RawType> = new Map([
  ['BOOL', 'bool'],
  ['U8', 'u8'],
  ['I8', 'i8'],
  ['U16', 'u16'],
  ['I16', 'i16'],
  ['U32', 'u32'],
  ['I32', 'i32'],
  ['U64', 'u64'],
  ['I64', 'i64'],
  ['F16', 'f16'],
  ['BF16', 'bf16'],
  ['F32', 'f32'],
  ['F64', 'f64'],
])

interface Tensor {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly start: number
  readonly end: number
}

export async function openSafetensors(source: ByteSource, { dataset }: ReadOptions = {}): Promise<Table> {
  const { tensors, dataStart } = await readHeader(source)
  const tensor = choose(source, tensors, dataset)
  const type = TYPES.get(tensor.dtype)
  const quoted = JSON.stringify(tensor.name)
  if (type === undefined) {
    throw badFile(
      source,
      ` holds ${quoted} as ${JSON.stringify(tensor.dtype.slice(0, 40))}: convert it to float32 before saving.`,
    )
  }
  const [rows, cols = 1] = tensor.shape
  if (cols === 0) throw badFile(source, ` holds ${quoted} with 0 columns: at least one is needed.`)
  if (tensor.end - tensor.start !== rawBytes({ type, rows, cols })) {
    throw badFile(
      source,
      ` gives ${quoted} ${tensor.end - tensor.start} bytes for ${rows} x ${cols} values of ${tensor.dtype}: it was damaged, copy or save it again.`,
    )
  }
  const place = { dataStart: dataStart + tensor.start, bigEndian: false, fortran: false }
  return rawTable(source, { type, rows, cols, ...place })
}

async function readHeader(source: ByteSource): Promise<{ tensors: Tensor[]; dataStart: number }> {
  const start = await source.read(0, Math.min(LENGTH_BYTES, source.size))
  const length =
    start.length < LENGTH_BYTES ? -1 : Number(new DataView(start.buffer, start.byteOffset, 8).getBigUint64(0, true))
  const dataStart = LENGTH_BYTES + length
  if (length < 2 || length > LONGEST_HEADER || dataStart > source.size) {
    throw badFile(source, ' is not a .safetensors file, or it was cut: its header does not fit into it.')
  }
  const text = new TextDecoder().decode(await source.read(LENGTH_BYTES, dataStart))
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch {
    throw badFile(source, ' is not a .safetensors file, or it was damaged: its header is not JSON.')
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw badFile(source, ' has a header that does not list tensors: it was damaged, copy or save it again.')
  }
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__')
  const size = source.size - dataStart
  return { tensors: entries.map(([name, entry]) => tensorOf(source, name, entry, size)), dataStart }
}

function tensorOf(source: ByteSource, name: string, entry: unknown, size: number): Tensor {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>
  const sizes = (value: unknown): value is number[] =>
    Array.isArray(value) && value.every((part) => Number.isSafeInteger(part) && part >= 0)
  if (
    typeof dtype !== 'string' ||
    !sizes(shape) ||
    !sizes(offsets) ||
    offsets.length !== 2 ||
    offsets[0] > offsets[1]
  ) {
    throw badFile(source, ` describes ${JSON.stringify(name.slice(0, 80))} wrongly: it was damaged, copy it again.`)
  }
  if (offsets[1] > size) {
    throw badFile(
      source,
      ` ends ${offsets[1] - size} bytes before the end of ${JSON.stringify(name.slice(0, 80))}: it was cut, copy it again.`,
    )
  }
  return { name, dtype, shape, start: offsets[0], end: offsets[1] }
}

/** The one that was asked for, or the only one of two dimensions. */
function choose(source: ByteSource, tensors: readonly Tensor[], dataset: string | undefined): Tensor {
  const flat = tensors.filter(({ shape }) => shape.length === 2)
  const found = dataset === undefined ? (flat.length === 1 ? flat[0] : undefined) : undefined
  const named = dataset === undefined ? found : tensors.find(({ name }) => name === dataset)
  const list = tensors
    .slice(0, MOST_LISTED)
    .map(({ name, shape }) => `${name.slice(0, 80)} (${shape.join(' x ')})`)
    .join(', ')
  const more = tensors.length > MOST_LISTED ? ` and ${tensors.length - MOST_LISTED} more` : ''
  if (named === undefined) {
    const fault =
      dataset === undefined
        ? `holds ${flat.length === 0 ? 'no' : flat.length} tensors of two dimensions`
        : `holds no tensor ${JSON.stringify(dataset.slice(0, 80))}`
    const example = (flat[0] ?? tensors[0])?.name.slice(0, 80)
    const cure = example === undefined ? 'save one' : `choose one, as in ${source.name}#${example}`
    throw badFile(source, ` ${fault}: ${cure}. It holds ${list || 'nothing'}${more}.`)
  }
  if (named.shape.length === 1 || named.shape.length === 2) return named
  throw badFile(
    source,
    ` holds ${JSON.stringify(named.name.slice(0, 80))} with ${named.shape.length} dimensions: reshape it to (rows, columns) before saving.`,
  )
}
