/** Arrays of saved folders: to the bytes of a .npy file, and back with type, shape and values checked. */
import type { ByteSource } from '../core/bytes.ts'
import { type Matrix, matrix } from '../core/matrix.ts'
import { badFolder, type SavedFolder } from './folder-load.ts'
import { npyHeader, openNpy } from './npy.ts'
import { bytesOf, type StoredData, type StoredType } from './table.ts'

/** Arrays that a run goes on from. */
export type ResumeArray = Float64Array | Float32Array | Uint32Array

export function matrixFile({ data, rows, cols }: Matrix): readonly Uint8Array[] {
  return [npyHeader([rows, cols], data instanceof Uint8Array ? 'u8' : 'f32'), bytesOf(data)]
}

export function listFile(data: ResumeArray): readonly Uint8Array[] {
  const type = data instanceof Float64Array ? 'f64' : data instanceof Float32Array ? 'f32' : 'u32'
  return [npyHeader([data.length], type), bytesOf(data)]
}

interface SavedArray {
  readonly type: StoredType
  readonly rows: number
  readonly cols: number
  readonly data: StoredData
}

const TYPE_NAMES: Readonly<Record<StoredType, string>> = {
  f32: 'float32',
  f64: 'float64',
  u8: 'uint8',
  i32: 'int32',
  u32: 'uint32',
}

/** Numbers of a matrix, all of them finite. */
export async function savedMatrix(
  saved: SavedFolder,
  name: string,
  shape: { rows: number; cols: number; type?: 'f32' },
): Promise<Matrix<Float32Array>>
export async function savedMatrix(
  saved: SavedFolder,
  name: string,
  shape: { rows: number; cols: number; type: 'u8' },
): Promise<Matrix<Uint8Array>>
export async function savedMatrix(
  saved: SavedFolder,
  name: string,
  { rows, cols, type = 'f32' }: { rows: number; cols: number; type?: 'f32' | 'u8' },
): Promise<Matrix> {
  const found = await savedArray(saved, name)
  if (found.type !== type || found.rows !== rows || found.cols !== cols) {
    throw wrongShape(saved, name, found, `${rows} x ${cols} of ${TYPE_NAMES[type]}`)
  }
  const data = found.data as Float32Array | Uint8Array
  requireFinite(saved, name, data)
  return matrix(data, rows, cols)
}

/** Whole numbers, `length` of them, all below `limit`. */
export async function savedNumbers(
  saved: SavedFolder,
  name: string,
  { length, limit = 2 ** 32 }: { length: number | undefined; limit?: number },
): Promise<Uint32Array> {
  const found = await savedArray(saved, name)
  if (found.type !== 'u32' || found.cols !== 1 || (length !== undefined && found.rows !== length)) {
    throw wrongShape(saved, name, found, `${length ?? 'any number of values'} of uint32`)
  }
  const data = found.data as Uint32Array
  const wrong = limit < 2 ** 32 ? data.findIndex((value) => value >= limit) : -1
  if (wrong >= 0)
    throw badArray(saved, name, `holds ${data[wrong]} at position ${wrong}, where less than ${limit} is needed`)
  return data
}

/** A list in the type it was saved in. */
export async function savedList(saved: SavedFolder, name: string): Promise<ResumeArray> {
  const { type, cols, rows, data } = await savedArray(saved, name)
  if (cols === 1 && (type === 'f64' || type === 'f32' || type === 'u32')) return data as ResumeArray
  throw wrongShape(saved, name, { type, rows, cols }, 'one column of float64, float32 or uint32')
}

function requireFinite(saved: SavedFolder, name: string, data: Float32Array | Uint8Array): void {
  if (data instanceof Uint8Array) return
  const wrong = data.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0)
    throw badArray(saved, name, `holds ${data[wrong]} at position ${wrong}, where all numbers must be finite`)
}

export function badArray({ path }: SavedFolder, name: string, what: string): Error {
  return badFolder(`${path}/${name}.npy ${what}: save the folder again.`)
}

function wrongShape(saved: SavedFolder, name: string, found: Omit<SavedArray, 'data'>, wanted: string): Error {
  return badArray(
    saved,
    name,
    `is ${found.rows} x ${found.cols} of ${TYPE_NAMES[found.type]}, where ${wanted} is needed`,
  )
}

async function savedArray(saved: SavedFolder, name: string): Promise<SavedArray> {
  const bytes = saved.bytes(name)
  const table = await openNpy(bytesInMemory(`${saved.path}/${name}.npy`, bytes))
  const { type, rows, cols } = table
  const data = await table.read(0, rows)
  // A copy without the header: whoever transfers or clones the buffer gets the numbers alone.
  return { type, rows, cols, data: data.byteLength === data.buffer.byteLength ? data : data.slice() }
}

function bytesInMemory(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.length,
    async read(start, end) {
      if (end > bytes.length) throw badFolder(`${name} ends at byte ${bytes.length}: bytes up to ${end} were expected.`)
      return bytes.subarray(start, end)
    },
    async close() {},
  }
}
