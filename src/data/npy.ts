/** NumPy's .npy: a magic string, a Python dict that describes the array, the numbers. */
import type { ByteSource } from '../core/bytes.ts'
import { type RawArray, type RawType, rawBytes, rawTable } from './raw-array.ts'
import type { Encoder, StoredData, StoredType, Table } from './table.ts'
import { badFile, bytesOf } from './table.ts'

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // "\x93NUMPY"
const ALIGNMENT = 64
/** Headers hold three short entries: more than this is no header but a damaged length. */
const LONGEST_HEADER = 1 << 20
/** Of what the file says, in an error. */
const LONGEST_QUOTE = 80
const MOST_COLUMNS = 0x7fffffff

/** Types by kind and size, without the byte order. A Map, because the key comes from the file. */
const TYPES: ReadonlyMap<string, RawType> = new Map([
  ['b1', 'bool'],
  ['u1', 'u8'],
  ['i1', 'i8'],
  ['u2', 'u16'],
  ['i2', 'i16'],
  ['u4', 'u32'],
  ['i4', 'i32'],
  ['u8', 'u64'],
  ['i8', 'i64'],
  ['f2', 'f16'],
  ['f4', 'f32'],
  ['f8', 'f64'],
])

const DESCRIPTIONS: Readonly<Record<StoredType, string>> = {
  f32: '<f4',
  f64: '<f8',
  u8: '|u1',
  i32: '<i4',
  u32: '<u4',
}

export async function openNpy(source: ByteSource): Promise<Table> {
  const array = await readHeader(source)
  const { rows, cols, dataStart } = array
  const expected = dataStart + rawBytes(array)
  if (source.size !== expected) {
    const fault = source.size < expected ? 'It was cut: copy it again.' : 'Save one array per file.'
    throw badFile(
      source,
      ` should end at byte ${expected} (${rows} x ${cols} values after a header of ${dataStart} bytes), it ends at byte ${source.size}. ${fault}`,
    )
  }
  return rawTable(source, array)
}

async function readHeader(source: ByteSource): Promise<RawArray> {
  const start = await source.read(0, Math.min(12, source.size))
  if (start.length < 10 || MAGIC.some((byte, i) => start[i] !== byte)) {
    throw badFile(source, ` is not a .npy file: it does not start with \\x93NUMPY. Save it with np.save.`)
  }
  const [major, minor] = [start[6], start[7]]
  if (major < 1 || major > 3 || minor !== 0) {
    throw badFile(source, ` is .npy version ${major}.${minor}: versions 1.0, 2.0 and 3.0 are known.`)
  }
  const view = new DataView(start.buffer, start.byteOffset, start.length)
  const textStart = major === 1 ? 10 : 12
  const length = major === 1 ? view.getUint16(8, true) : start.length < 12 ? 0 : view.getUint32(8, true)
  const dataStart = textStart + length
  if (length === 0 || length > LONGEST_HEADER || dataStart > source.size) {
    throw badFile(
      source,
      ` says its header takes ${length} bytes from byte ${textStart}, the file ends at byte ${source.size}: it was cut or damaged.`,
    )
  }
  const text = new TextDecoder().decode(await source.read(textStart, dataStart))
  return { ...parseHeader(source, text), dataStart }
}

function parseHeader(source: ByteSource, text: string): Omit<RawArray, 'dataStart'> {
  const description = /'descr'\s*:\s*(?:'([^']*)'|([[({]))/.exec(text)
  const fortran = /'fortran_order'\s*:\s*(True|False)/.exec(text)?.[1]
  // Python 2 wrote long integers with an L.
  const shape = /'shape'\s*:\s*\(([\d\sL,]*)\)/.exec(text)?.[1]
  if (!description || fortran === undefined || shape === undefined) {
    throw badFile(
      source,
      ` has a header without descr, fortran_order or shape: found ${JSON.stringify(text.trim().slice(0, LONGEST_QUOTE))}.`,
    )
  }
  const [rows, cols] = sizesIn(source, shape)
  return { ...typeOf(source, description[1]), fortran: fortran === 'True', rows, cols }
}

function sizesIn(source: ByteSource, shape: string): [rows: number, cols: number] {
  const quoted = `shape (${shape.trim().slice(0, LONGEST_QUOTE)})`
  // A comma may follow the last number; one must follow if it is the only one.
  const words = shape.split(',').map((word) => word.trim())
  if (words.at(-1) === '') words.pop()
  const sizes = words.map((word) => (/^\d+L?$/.test(word) ? Number.parseInt(word, 10) : Number.NaN))
  if (sizes.length !== 1 && sizes.length !== 2) {
    throw badFile(
      source,
      ` has ${sizes.length} dimensions, ${quoted}: save array.reshape(rows, columns), 1 or 2 dimensions.`,
    )
  }
  const [rows, cols = 1] = sizes
  if (cols === 0) throw badFile(source, ` has ${quoted}: at least one column is needed.`)
  if (!Number.isSafeInteger(rows) || !(cols <= MOST_COLUMNS)) {
    throw badFile(source, ` has ${quoted}, which is not a possible shape: it was damaged, copy or save it again.`)
  }
  return [rows, cols]
}

function typeOf(source: ByteSource, description: string | undefined): Pick<RawArray, 'type' | 'bigEndian'> {
  if (description === undefined) {
    throw badFile(source, ' holds a structured array: save its numbers as one float32 array.')
  }
  const [order, rest] = [description.charAt(0), description.slice(1)]
  const type = '<>|='.includes(order) ? TYPES.get(rest) : undefined
  if (type !== undefined && order !== '') return { type, bigEndian: order === '>' }
  throw badFile(
    source,
    ` holds values of type ${JSON.stringify(description.slice(0, LONGEST_QUOTE))}, which are not numbers that can be read: save it with array.astype(np.float32).`,
  )
}

/** The bytes before the numbers, as np.save writes them. */
export function npyHeader(shape: readonly number[], type: StoredType): Uint8Array {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  return npyBytes(DESCRIPTIONS[type], `(${sizes})`)
}

/** The same for any description and shape, in Python's words. */
export function npyBytes(description: string, shape: string): Uint8Array {
  const text = `{'descr': '${description}', 'fortran_order': False, 'shape': ${shape}, }`
  // The header ends with a newline, and on a multiple of 64 so that the numbers can be mapped into memory.
  const total = Math.ceil((10 + text.length + 1) / ALIGNMENT) * ALIGNMENT
  const padded = `${text.padEnd(total - 11)}\n`
  const bytes = new Uint8Array(total)
  bytes.set([...MAGIC, 1, 0, padded.length & 0xff, padded.length >> 8])
  bytes.set(new TextEncoder().encode(padded), 10)
  return bytes
}

export function npyEncoder(shape: readonly number[], type: StoredType): Encoder {
  return { head: npyHeader(shape, type), encode: (data: StoredData) => bytesOf(data) }
}
