/**
 * HDF5, by h5wasm: a dataset of two dimensions, rows on demand. Files of ann-benchmarks hold train, test, neighbors and
 * distances; `train` is read unless another one is named.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { ReadOptions } from './columns.ts'
import { optionalPackage, readBy } from './optional-package.ts'
import { allocate, badFile, checkRows, rowsPerPiece, type StoredType, type Table } from './table.ts'

type H5wasm = typeof import('h5wasm/node')
type Dataset = InstanceType<H5wasm['Dataset']>

/** Read where no dataset is named and there are several. */
const DEFAULT_DATASET = 'train'
const MOST_LISTED = 12
const WHOLE_NUMBER = 0
const FLOAT = 1

export async function openHdf5(source: ByteSource, options: ReadOptions = {}): Promise<Table> {
  const { path, name } = source
  if (path === undefined) {
    throw badFile(source, ' is HDF5, which is read only from a file on disk: unpack or save it to one first.')
  }
  const h5wasm = await optionalPackage<H5wasm>('h5wasm/node', 'Reading HDF5', 'h5wasm')
  const module = await h5wasm.ready
  // Otherwise the library prints its errors.
  module.activate_throwing_error_handler()
  const file = await readBy(name, 'HDF5', () => inShort(() => new h5wasm.File(path, 'r')))
  let open = true
  const close = async (): Promise<void> => {
    if (open) inShort(() => file.close())
    open = false
    await source.close()
  }
  try {
    return await readBy(name, 'HDF5', () => inShort(() => tableOf(source, h5wasm, file, options, close)))
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
}

/** Errors of the library are long reports: the first line that says what happened is enough. */
function inShort<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    const message = String((error as Error)?.message ?? error)
    const lines = message.split('\n').filter((line) => /\(\): /.test(line))
    if (lines.length === 0) throw error
    throw new Error(lines.at(-1)!.replace(/^.*\(\): /, ''))
  }
}

function tableOf(
  source: ByteSource,
  h5wasm: H5wasm,
  file: InstanceType<H5wasm['File']>,
  options: ReadOptions,
  close: () => Promise<void>,
): Table {
  const dataset = choose(source, h5wasm, file, options.dataset)
  const { shape, metadata } = dataset
  const [rows, cols = 1] = shape ?? []
  const { size, signed } = metadata
  if (metadata.type === FLOAT && size === 2) {
    throw badFile(source, ` holds ${dataset.path} as float16: save it as float32.`)
  }
  const bytes = metadata.type === WHOLE_NUMBER && size === 1 && !signed
  const type: StoredType = bytes ? 'u8' : size <= 2 || (metadata.type === FLOAT && size === 4) ? 'f32' : 'f64'
  const { name } = source
  return {
    rows,
    cols,
    type,
    name,
    async read(start, end) {
      checkRows({ rows, name }, start, end)
      const out = allocate(type, (end - start) * cols, name)
      const step = rowsPerPiece(cols, 8)
      for (let row = start; row < end; row += step) {
        const last = Math.min(row + step, end)
        const values = await readBy(name, 'HDF5', () =>
          inShort(() => dataset.slice(shape?.length === 1 ? [[row, last]] : [[row, last], []])),
        )
        copyInto(source, values, (last - row) * cols, out, (row - start) * cols)
      }
      return out
    },
    close,
  }
}

function copyInto(
  source: ByteSource,
  values: unknown,
  length: number,
  out: { [index: number]: number; set(values: ArrayLike<number>, at: number): void },
  at: number,
): void {
  if (!ArrayBuffer.isView(values) || (values as Uint8Array).length !== length) {
    throw badFile(source, ' gave another number of values than its dataset has: it was damaged, copy it again.')
  }
  if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) {
    out.set(values as Float32Array, at)
    return
  }
  for (let i = 0; i < length; i++) {
    const value = Number(values[i])
    if (!Number.isSafeInteger(value)) {
      throw badFile(source, ` holds ${values[i]}, which is beyond 2^53: subtract an offset before saving.`)
    }
    out[at + i] = value
  }
}

function choose(
  source: ByteSource,
  h5wasm: H5wasm,
  file: InstanceType<H5wasm['File']>,
  wanted: string | undefined,
): Dataset {
  const isDataset = (entity: unknown): entity is Dataset => entity instanceof h5wasm.Dataset
  const found = file
    .paths()
    .map((path) => file.get(path))
    .filter(isDataset)
    .filter(({ shape, metadata }) => {
      const isNumber = metadata.type === WHOLE_NUMBER || metadata.type === FLOAT
      return isNumber && shape !== null && (shape.length === 1 || shape.length === 2) && shape[1] !== 0
    })
  const plain = (dataset: Dataset): string => dataset.path.replace(/^\//, '')
  const flat = found.filter(({ shape }) => shape!.length === 2)
  const named = wanted === undefined ? undefined : found.find((dataset) => plain(dataset) === wanted.replace(/^\//, ''))
  if (named !== undefined) return named
  const fallback = flat.length === 1 ? flat[0] : flat.find((dataset) => plain(dataset) === DEFAULT_DATASET)
  if (wanted === undefined && fallback !== undefined) return fallback
  const list = found.slice(0, MOST_LISTED).map((dataset) => `${plain(dataset)} (${dataset.shape!.join(' x ')})`)
  const more = found.length > MOST_LISTED ? ` and ${found.length - MOST_LISTED} more` : ''
  const fault =
    wanted === undefined ? 'several datasets of two dimensions' : `no dataset ${JSON.stringify(wanted)} of numbers`
  if (found.length === 0) throw badFile(source, ' holds no dataset of numbers with one or two dimensions.')
  throw badFile(
    source,
    ` holds ${fault}: choose one, as in ${source.name}#${plain(flat[0] ?? found[0])}. It holds ${list.join(', ')}${more}.`,
  )
}
