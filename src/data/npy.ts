/** NumPy's .npy: a magic string, a Python dict that describes the array, the numbers. */
import type { ByteSource } from '../core/bytes.ts'
import type { Encoder, StoredData, StoredType, Table } from './table.ts'
import { allocate, badFile, bytesOf, bytesPerValue, checkRows, numbersIn, PIECE_BYTES } from './table.ts'

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // "\x93NUMPY"
const ALIGNMENT = 64
/** Headers hold three short entries: more than this is no header but a damaged length. */
const LONGEST_HEADER = 1 << 20
/** Of what the file says, in an error. */
const LONGEST_QUOTE = 80
const MOST_COLUMNS = 0x7fffffff

/** int64 is what NumPy makes of whole numbers by default; it is read where the values fit in int32. */
type FileType = StoredType | 'i64'

/** A Map, because the key comes from the file: an object would also know "constructor". */
const TYPES: ReadonlyMap<string, FileType> = new Map([
  ['<f4', 'f32'],
  ['<f8', 'f64'],
  ['|u1', 'u8'],
  ['<u1', 'u8'],
  ['<i4', 'i32'],
  ['<u4', 'u32'],
  ['<i8', 'i64'],
])

const DESCRIPTIONS: Readonly<Record<StoredType, string>> = {
  f32: '<f4',
  f64: '<f8',
  u8: '|u1',
  i32: '<i4',
  u32: '<u4',
}

interface Header {
  readonly type: FileType
  readonly rows: number
  readonly cols: number
  readonly dataStart: number
}

export async function openNpy(source: ByteSource): Promise<Table> {
  const { type, rows, cols, dataStart } = await readHeader(source)
  const rowBytes = cols * (type === 'i64' ? 8 : bytesPerValue(type))
  const expected = dataStart + rows * rowBytes
  if (source.size !== expected) {
    const fault = source.size < expected ? 'It was cut: copy it again.' : 'Save one array per file.'
    throw badFile(
      source,
      ` should end at byte ${expected} (${rows} x ${cols} values after a header of ${dataStart} bytes), it ends at byte ${source.size}. ${fault}`,
    )
  }
  const readBytes = (start: number, end: number): Promise<Uint8Array> =>
    source.read(dataStart + start * rowBytes, dataStart + end * rowBytes)
  return {
    rows,
    cols,
    type: type === 'i64' ? 'i32' : type,
    name: source.name,
    async read(start, end) {
      checkRows({ rows, name: source.name }, start, end)
      if (type !== 'i64') return numbersIn(await readBytes(start, end), type)
      const out = allocate('i32', (end - start) * cols, source.name)
      const step = Math.max(1, Math.floor(PIECE_BYTES / rowBytes))
      for (let row = start; row < end; row += step) {
        const bytes = await readBytes(row, Math.min(row + step, end))
        narrow(source, bytes, out.subarray((row - start) * cols), row, cols)
      }
      return out
    },
    close: () => source.close(),
  }
}

async function readHeader(source: ByteSource): Promise<Header> {
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

function parseHeader(source: ByteSource, text: string): Omit<Header, 'dataStart'> {
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
  const type = typeOf(source, description[1])
  if (fortran === 'True') {
    throw badFile(
      source,
      ' holds its array column by column (fortran_order): save it with np.save(file, np.ascontiguousarray(array)).',
    )
  }
  const [rows, cols] = sizesIn(source, shape)
  return { type, rows, cols }
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

function typeOf(source: ByteSource, description: string | undefined): FileType {
  const type = description === undefined ? undefined : TYPES.get(description)
  if (type !== undefined) return type
  if (description === undefined) {
    throw badFile(source, ' holds a structured array: save its numbers as one float32 array.')
  }
  if (description.startsWith('>') && TYPES.has(`<${description.slice(1)}`)) {
    throw badFile(source, ` is big-endian (${description}): save it with array.astype('<${description.slice(1)}').`)
  }
  throw badFile(
    source,
    ` holds numbers of type ${JSON.stringify(description.slice(0, LONGEST_QUOTE))}: save it with array.astype(np.float32), or np.uint8, or np.int32.`,
  )
}

/** int64 to int32: the high word must only repeat the sign. */
function narrow(source: ByteSource, bytes: Uint8Array, out: Int32Array, firstRow: number, cols: number): void {
  const words = numbersIn(bytes, 'i32')
  for (let i = 0; i < words.length / 2; i++) {
    const low = words[2 * i]
    if (words[2 * i + 1] !== low >> 31) {
      const value = (BigInt(words[2 * i + 1]) << 32n) | BigInt(low >>> 0)
      throw badFile(
        source,
        `, row ${firstRow + Math.floor(i / cols)}, column ${i % cols}: ${value} does not fit in 32 bits, the largest whole number kept here; save floats as float32.`,
      )
    }
    out[i] = low
  }
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
