/** Damaged files of every format: the right numbers, or one CentroidalError. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  labelBytes,
  type Matrix,
  matrix,
  openVectors,
  readIntegers,
  readSparse,
  readVectors,
  type SparseMatrix,
  sparseMatrix,
  vectorBytes,
} from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import type { Draw } from '../draw.ts'
import { attempt, show } from '../judge.ts'
import { type Damaged, damage, joined } from '../mutations.ts'
import { type Dense, type SparseRows, strictCluto, strictNpy, strictText, strictVecs } from './file-oracles.ts'
import { storedZip } from './zip.ts'

const NEW_EXTENSIONS = ['jsonl', 'safetensors', 'npy.gz'] as const
const EXTENSIONS = ['npy', 'npy', 'npz', 'fvecs', 'bvecs', 'ivecs', 'csv', 'tsv', 'mat', ...NEW_EXTENSIONS] as const

/** Files of the formats that are only read: made here, as the library does not write them. */
function readOnlyFile(
  extension: (typeof NEW_EXTENSIONS)[number],
  numbers: readonly number[],
  cols: number,
): Uint8Array {
  const rows = numbers.length / cols
  if (extension === 'jsonl') {
    const lines = Array.from({ length: rows }, (_, row) => JSON.stringify(numbers.slice(row * cols, (row + 1) * cols)))
    return Buffer.from(`${lines.join('\n')}\n`)
  }
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer)
  const header = Buffer.from(
    JSON.stringify({ vectors: { dtype: 'F32', shape: [rows, cols], data_offsets: [0, bytes.length] } }),
  )
  return joined(new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer), joined(header, bytes))
}

export const readers: Area = {
  name: 'readers',
  title: 'damaged .npy, .npz, .vecs, .csv, .mat, .jsonl, .safetensors, .gz',
  share: 3,
  seconds: 20,
  run,
}

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  const extension = draw.pick(EXTENSIONS)
  let bytes = await wholeFile(draw, extension)
  const steps: string[] = []
  for (let left = draw.pick([0, 1, 1, 1, 1, 2, 3]); left > 0; left--) {
    const damaged = damageFile(draw, bytes, extension)
    bytes = damaged.bytes
    steps.push(damaged.how)
  }
  const path = join(folder(), `file.${extension}`)
  writeFileSync(path, bytes)
  const reader = draw.pick(['vectors', 'integers', 'sparse', 'pieces'] as const)
  note(`${extension}, read as ${reader}: ${steps.join('; ') || 'whole'}`)
  const told = path
  if (reader === 'vectors') checkDense(await attempt(() => readVectors(path), { told }), bytes, extension)
  else if (reader === 'pieces') checkDense(await attempt(() => inPieces(draw, path), { told }), bytes, extension)
  else if (reader === 'sparse') checkSparse(await attempt(() => readSparse(path), { told }), bytes, extension)
  else checkIntegers(await attempt(() => readIntegers(path), { told }), bytes, extension)
}

/** Blind damage hardly ever survives a checksum or gives a header that parses: some damage knows the format. */
function damageFile(draw: Draw, bytes: Uint8Array, extension: string): Damaged {
  const text = ['csv', 'tsv', 'mat', 'jsonl'].includes(extension)
  if (extension === 'npy' && draw.chance(0.4)) return damageHeader(draw, bytes)
  if (extension !== 'npz' || draw.chance(0.3)) return damage(draw, bytes, text)
  try {
    let how = ''
    const out = storedZip(bytes, (members) => {
      const chosen = draw.below(members.length)
      return members.flatMap((member, i) => {
        if (i !== chosen) return [member]
        if (draw.chance(0.1)) return draw.chance(0.5) ? [] : [member, member]
        const damaged = draw.chance(0.5) ? damageHeader(draw, member.bytes) : damage(draw, member.bytes)
        how = `${member.name}: ${damaged.how}`
        return [{ ...member, bytes: damaged.bytes }]
      })
    })
    return { bytes: out, how: how === '' ? 'a member removed or doubled' : how }
  } catch {
    // No archive any more: an earlier damage broke it.
    return damage(draw, bytes, text)
  }
}

/** Another type, shape or order in the header of a .npy. */
function damageHeader(draw: Draw, bytes: Uint8Array): Damaged {
  const head = Buffer.from(bytes.subarray(0, 128)).toString('latin1')
  const types = [
    '<f4',
    '<f8',
    '<i8',
    '<i4',
    '|u1',
    '|S3',
    '|b1',
    '>f4',
    '__proto__',
    'constructor',
    'toString',
    '',
    '<U3',
    '|O',
  ]
  const sizes = [
    '',
    '0,',
    '1,',
    '3,',
    '7,',
    '0, 3',
    '3, 0',
    '2, 2',
    '1, 1, 1',
    '99999999999999999999,',
    '4294967295, 4294967295',
    '1e2,',
    'L,',
    ',',
  ]
  const [pattern, text] = draw.pick([
    [/'descr': '[^']*'/, `'descr': '${draw.pick(types)}'`],
    [/'shape': \([^)]*\)/, `'shape': (${draw.pick(sizes)})`],
    [/'fortran_order': \w+/, `'fortran_order': ${draw.pick(['True', 'None', '0'])}`],
  ] as const)
  const edited = head.replace(pattern, text)
  // The padding before the newline takes up the difference, so that the data stays where it was.
  const fitted =
    edited.length > head.length
      ? edited.replace(' '.repeat(edited.length - head.length), '')
      : edited.replace(/ *\n/, (end) => ' '.repeat(head.length - edited.length) + end)
  return { bytes: joined(Buffer.from(fitted, 'latin1'), bytes.subarray(128)), how: `header with ${text}` }
}

async function wholeFile(draw: Draw, extension: (typeof EXTENSIONS)[number]): Promise<Uint8Array> {
  const rows = draw.between(1, 6)
  const cols = draw.between(1, 5)
  const name = `file.${extension}`
  if (extension === 'npz' || extension === 'mat') return vectorBytes(name, sparse(draw, rows, cols))
  if (extension === 'npy' && draw.chance(0.3)) {
    return labelBytes(
      name,
      Uint32Array.from({ length: rows }, () => draw.word()),
    )
  }
  const whole = extension === 'bvecs' || extension === 'ivecs' || draw.chance(0.3)
  const value = (): number => (whole ? draw.below(256) : Math.fround(draw.normal() * 10 ** draw.between(-5, 5)))
  const numbers = Array.from({ length: rows * cols }, value)
  if (extension === 'jsonl' || extension === 'safetensors') return readOnlyFile(extension, numbers, cols)
  const data = extension === 'bvecs' ? Uint8Array.from(numbers) : Float32Array.from(numbers)
  return vectorBytes(name, matrix(data, rows, cols))
}

export function sparse(draw: Draw, rows: number, cols: number): SparseMatrix {
  const offsets = [0]
  const columns: number[] = []
  const values: number[] = []
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < cols; column++) {
      if (draw.chance(0.5)) continue
      columns.push(column)
      values.push(Math.fround(draw.normal() * 10))
    }
    offsets.push(columns.length)
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols)
}

/** Row by row, in any order. */
async function inPieces(draw: Draw, path: string): Promise<Matrix> {
  const source = await openVectors(path)
  try {
    if (source.sparse) return matrix(await source.read(0, source.rows), source.rows, source.cols)
    const data =
      source.type === 'u8' ? new Uint8Array(source.rows * source.cols) : new Float32Array(source.rows * source.cols)
    const starts = draw.shuffle(Array.from({ length: source.rows }, (_, row) => row))
    for (const row of starts) data.set(await source.read(row, row + 1), row * source.cols)
    return matrix(data, source.rows, source.cols)
  } finally {
    await source.close?.()
  }
}

type Tried<T> = { readonly value: T } | { readonly error: Error }

function checkDense(tried: Tried<Matrix>, bytes: Uint8Array, extension: string): void {
  const wanted = oracle(bytes, extension)
  if ('error' in tried) {
    refuseRightly(tried.error, wanted, extension)
    return
  }
  const { rows, cols, data } = tried.value
  if (data.length !== rows * cols) throw new Failure('wrong result', `${data.length} numbers for ${rows} x ${cols}`)
  if (wanted) compare(wanted, rows, cols, data, (value) => (data instanceof Uint8Array ? value : Math.fround(value)))
}

function checkIntegers(
  tried: Tried<{ rows: number; cols: number; data: ArrayLike<number> }>,
  bytes: Uint8Array,
  extension: string,
): void {
  const wanted = oracle(bytes, extension)
  if ('error' in tried) return
  const { rows, cols, data } = tried.value
  if (data.length !== rows * cols) throw new Failure('wrong result', `${data.length} numbers for ${rows} x ${cols}`)
  if (wanted) compare(wanted, rows, cols, data, (value) => value)
}

function checkSparse(tried: Tried<SparseMatrix>, bytes: Uint8Array, extension: string): void {
  if ('error' in tried) return
  const { rows, cols, offsets, columns, values } = tried.value
  if (offsets.length !== rows + 1 || columns.length !== values.length)
    throw new Failure('wrong result', 'broken offsets')
  const wanted = extension === 'mat' ? strictCluto(bytes) : undefined
  if (!wanted) return
  const found: SparseRows = {
    rows,
    cols,
    entries: Array.from({ length: rows }, (_, row) =>
      Array.from(
        columns.subarray(offsets[row], offsets[row + 1]),
        (column, i) => [column, values[offsets[row] + i]] as const,
      ),
    ),
  }
  const rounded = wanted.entries.map((row) => row.map(([column, value]) => [column, Math.fround(value)] as const))
  if (show(found.entries) !== show(rounded) || found.rows !== wanted.rows || found.cols !== wanted.cols) {
    throw new Failure('wrong result', `entries ${show(found.entries)} instead of ${show(rounded)}`)
  }
}

function oracle(bytes: Uint8Array, extension: string): Dense | undefined {
  if (extension === 'npy') return strictNpy(bytes)
  if (extension === 'csv' || extension === 'tsv') return strictText(bytes, extension === 'csv' ? ',' : '\t')
  return extension.endsWith('vecs') ? strictVecs(bytes, extension) : undefined
}

/** A file that is exactly as it should be must be read, unless a number does not fit. */
function refuseRightly(error: Error, wanted: Dense | undefined, extension: string): void {
  if (wanted === undefined || wanted.rows === 0) return
  const exact = wanted.numbers.every(
    (value) => Number.isFinite(value) && (Math.fround(value) === value || ['csv', 'tsv'].includes(extension)),
  )
  const small = wanted.numbers.every((value) => Math.abs(value) < 3e38)
  if (exact && small) throw new Failure('wrong result', `a whole file was refused: ${error.message}`)
}

function compare(
  wanted: Dense,
  rows: number,
  cols: number,
  data: ArrayLike<number>,
  round: (value: number) => number,
): void {
  if (rows !== wanted.rows || cols !== wanted.cols) {
    throw new Failure('wrong result', `${rows} x ${cols} instead of ${wanted.rows} x ${wanted.cols}`)
  }
  for (let i = 0; i < data.length; i++) {
    if (!Object.is(data[i] + 0, round(wanted.numbers[i]) + 0)) {
      throw new Failure('wrong result', `number ${i} is ${data[i]} instead of ${wanted.numbers[i]}`)
    }
  }
}
