/**
 * WebAssembly functions declared once: name, arguments and scratch memory. The class that describes the arguments in
 * AssemblyScript (`wasm/build/assembly/arguments.ts`, written by `scripts/build-wasm.mjs`), the packing of the arguments and the
 * layout of scratch memory follow from the declaration; arguments are given by name, and both compilers check them.
 *
 * A function is `fn(start, end, scratch, args)`, where `args` points to a block of memory with the fields in the order of the
 * declaration. An area `rows` of scratch memory begins at `scratch + args.rowsAt`.
 */
import { elementBytes } from '../core/matrix.ts'
import { ARGUMENT_BYTES, type CpuJob, type CpuMemory, type ScratchArea } from '../device/contract.ts'
import { type Elements, elementBytesOf, isBufferField } from '../device/fields.ts'
import {
  DENSE_VECTORS,
  type Field,
  type Fields,
  type FunctionArgs,
  isCompiled,
  isMatrix,
  isVectors,
  type MatrixRows,
  VECTORS,
} from './kernel-fields.ts'
import { type DeviceRows, denseType } from './rows.ts'

export { DENSE_VECTORS, type FunctionArgs, VECTORS }

/** Bytes of an area, by the arguments and, where it has a place for each item, by the items that a thread takes at a time. */
export type AreaBytes<F extends Fields> = (args: FunctionArgs<F>, items: JobItems) => number

export interface FunctionDeclaration<F extends Fields> {
  readonly args: F
  /** Private memory of a thread, in areas that begin at multiples of 16 bytes. Default: none. */
  readonly scratch?: Readonly<Record<string, AreaBytes<F>>>
}

export interface JobItems {
  readonly items: number
  /** Items that a thread takes at a time. */
  readonly grain: number
}

/** A 32-bit or 64-bit field of the block of arguments. */
export interface BlockField {
  readonly name: string
  readonly type: 'u32' | 'i32' | 'f32' | 'f64' | 'usize'
  readonly offset: number
  /** The argument or area it belongs to, for the comment in AssemblyScript. */
  readonly about: string
}

export interface DeclaredFunction<F extends Fields = Fields> {
  readonly entry: string
  readonly fields: readonly BlockField[]
  /** Arguments that are vectors, and where their fields begin in the block. */
  readonly vectors: readonly { readonly name: string; readonly offset: number }[]
  readonly bytes: number
  /** One job with these arguments. Throws unless each buffer has the elements that are stated. */
  job(memory: CpuMemory, args: FunctionArgs<F>, items: JobItems): CpuJob
}

/** Fields of a `Rows`, in order. */
export const VECTOR_FIELDS = ['data', 'kind', 'stride', 'offsets', 'columns'] as const

const AREA_ALIGNMENT = 16

export function declareFunction<const F extends Fields>(
  entry: string,
  { args: declared, scratch = {} }: FunctionDeclaration<F>,
): DeclaredFunction<F> {
  const { fields, vectors, bytes } = layOut(declared, Object.keys(scratch))
  if (bytes > ARGUMENT_BYTES) throw new Error(`${entry} has ${bytes} bytes of arguments, at most ${ARGUMENT_BYTES} fit`)
  const given = Object.entries<Field>(declared)
  return {
    entry,
    fields,
    vectors,
    bytes,
    job(memory, args, { items, grain }) {
      const { areas, total } = layOutScratch(entry, scratch, args, { items, grain }, memory.scratchGap ?? 0)
      const values: number[] = []
      for (const [name, field] of given) {
        addValues(values, entry, name, field, (args as Readonly<Record<string, unknown>>)[name], memory)
      }
      for (const { offset } of areas) values.push(offset)
      return { entry, items, grain, args: pack(fields, values, bytes), scratchBytes: total, scratchAreas: areas }
    },
  }
}

function layOut(declared: Fields, areas: readonly string[]) {
  const fields: BlockField[] = []
  const vectors: { name: string; offset: number }[] = []
  let end = 0
  const add = (name: string, type: BlockField['type'], about: string): void => {
    const bytes = type === 'f64' ? 8 : 4
    const offset = Math.ceil(end / bytes) * bytes
    fields.push({ name, type, offset, about })
    end = offset + bytes
  }
  for (const [name, field] of Object.entries(declared)) {
    if (field === 'host') continue
    if (field === 'bool') add(name, 'u32', '0 or 1')
    else if (field === 'stride') add(name, 'u32', '')
    else if (typeof field === 'string') add(name, field, '')
    else if (isMatrix(field)) add(name, 'usize', 'f32')
    else if (isCompiled(field)) throw new Error(`${name} is part of the text of a shader`)
    else if (isBufferField(field)) add(name, 'usize', `${field.element}${field.optional ? ', 0 if absent' : ''}`)
    else {
      vectors.push({ name, offset: end })
      for (const part of VECTOR_FIELDS) {
        add(`${name}_${part}`, part === 'kind' || part === 'stride' ? 'u32' : 'usize', '')
      }
    }
  }
  for (const name of areas) add(`${name}At`, 'u32', 'offset in scratch memory')
  return { fields, vectors, bytes: Math.ceil(end / 8) * 8 }
}

/** Areas one after the other; `gap` bytes around each belong to none. */
function layOutScratch<F extends Fields>(
  entry: string,
  scratch: Readonly<Record<string, AreaBytes<F>>>,
  args: FunctionArgs<F>,
  items: JobItems,
  gap: number,
): { readonly areas: readonly ScratchArea[]; readonly total: number } {
  let total = gap
  const areas = Object.entries(scratch).map(([name, bytesOf]) => {
    const bytes = bytesOf(args, items)
    if (!Number.isInteger(bytes) || bytes < 0) throw new Error(`${entry}: ${bytes} bytes of scratch for ${name}`)
    const offset = total
    total = Math.ceil((offset + bytes + gap) / AREA_ALIGNMENT) * AREA_ALIGNMENT
    return { name, offset, bytes }
  })
  return { areas, total: areas.length > 0 ? total : 0 }
}

function addValues(
  values: number[],
  entry: string,
  name: string,
  field: Field,
  value: unknown,
  memory: CpuMemory,
): void {
  if (field === 'host') return
  if (field === 'bool') values.push(value ? 1 : 0)
  else if (typeof field === 'string') {
    if (typeof value !== 'number') throw new Error(`${entry}: ${name} is ${value}, not a number`)
    values.push(value)
  } else if (isVectors(field)) {
    const rows = value as DeviceRows
    if (field.vectors === 'dense') denseType(rows)
    values.push(...vectorValues(memory, rows))
  } else if (isMatrix(field)) {
    const { buffer, rows, stride } = value as MatrixRows
    values.push(memory.address(buffer, rows * stride * 4))
  } else if (isBufferField(field)) {
    if (value === undefined && field.optional) values.push(0)
    else {
      const { target, count } = value as Elements
      values.push(memory.address(target, count * elementBytesOf(field.element)))
    }
  }
}

function vectorValues(memory: CpuMemory, { buffer, rows, stride, type, sparse }: DeviceRows): readonly number[] {
  const kind = vectorKinds.get(VECTOR_KINDS[type])
  if (type !== 'csr') return [memory.address(buffer, rows * stride * elementBytes(type)), kind, stride, 0, 0]
  if (sparse === undefined) throw new Error('Sparse rows without offsets and columns')
  const { places, columnsAt, entries } = sparse
  const offsets = memory.address(places, (columnsAt + entries) * 4)
  return [memory.address(buffer, entries * 4), kind, stride, offsets, offsets + columnsAt * 4]
}

/** Fields as they lie in memory: WebAssembly is little-endian, and so are the machines that have it. */
function pack(fields: readonly BlockField[], values: readonly number[], bytes: number): Uint8Array {
  const block = new DataView(new ArrayBuffer(bytes))
  fields.forEach(({ type, offset }, i) => {
    if (type === 'f32') block.setFloat32(offset, values[i], true)
    else if (type === 'f64') block.setFloat64(offset, values[i], true)
    else if (type === 'i32') block.setInt32(offset, values[i], true)
    else block.setUint32(offset, values[i], true)
  })
  return new Uint8Array(block.buffer)
}

/** A constant that kernels in both languages use, with its type in AssemblyScript. */
export interface SharedConstant {
  readonly type: 'u32' | 'f32' | 'f64'
  readonly value: number
}

/**
 * Constants under names that are unique among all kernels. AssemblyScript imports them from
 * `wasm/build/assembly/arguments.ts`; here the result has their values.
 */
export class SharedConstants<K extends string = string> {
  readonly declared: Readonly<Record<K, SharedConstant>>

  constructor(declared: Readonly<Record<K, SharedConstant>>) {
    this.declared = declared
  }

  get(name: K): number {
    return this.declared[name].value
  }
}

/** Element types as `Rows.kind` has them. */
export const vectorKinds = new SharedConstants({
  FLOATS: { type: 'u32', value: 0 },
  BYTES: { type: 'u32', value: 1 },
  SPARSE: { type: 'u32', value: 2 },
})
const VECTOR_KINDS = { f32: 'FLOATS', u8: 'BYTES', csr: 'SPARSE' } as const
