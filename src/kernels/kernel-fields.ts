/** What a kernel can be given, and the values of it in TypeScript: see declared-kernel.ts. */
import type { ElementType } from '../core/matrix.ts'
import type { BufferPart, DeviceBuffer } from '../device/contract.ts'
import type { BufferField, Elements, ParamType, WithOptional } from '../device/fields.ts'
import type { DeviceRows, RowType } from './rows.ts'

/** Vectors, dense or sparse. */
export const VECTORS = { vectors: 'any' } as const
/** Dense vectors; sparse ones are refused. */
export const DENSE_VECTORS = { vectors: 'dense' } as const
/** The same, of which a shader reads single floats, or words of four bytes. */
export const FLAT_VECTORS = { vectors: 'dense', flat: true } as const

type AnyVectors = typeof VECTORS
type DenseVectors = typeof DENSE_VECTORS
export type VectorsField = (AnyVectors | DenseVectors) & { readonly flat?: true }

/** Dense rows of floats: f32 on the CPU and vec4f in a shader, or f32 in forms that are `flat`. */
export interface MatrixField {
  readonly matrix: 'read' | 'write'
  /** Default: where vectors are sparse. */
  readonly flat?: (form: AnyForm) => boolean
}
export const READ_ROWS: MatrixField = { matrix: 'read' }
export const WRITTEN_ROWS: MatrixField = { matrix: 'write' }

/** All rows of a matrix, or some of them. */
export interface MatrixRows {
  readonly buffer: DeviceBuffer | BufferPart
  readonly rows: number
  readonly stride: number
}

/** A value that is part of the text of a shader, which exists once for each. */
export interface CompiledField<T extends string | number | boolean = string | number | boolean> {
  /** The values with which hardware GPUs run it, for `npm run gpu:stats` and the tests. */
  readonly compiled: readonly T[]
}

/** One of these values. */
export function compiled<const T extends string | number | boolean>(...values: readonly T[]): CompiledField<T> {
  return { compiled: values }
}
/** Any value of a type, of which hardware GPUs run these. */
export function compiledOf<T extends string | number | boolean>(...values: readonly T[]): CompiledField<T> {
  return { compiled: values }
}

/** A buffer that only some forms of a shader have, or that forms use in different ways. */
export interface FormField extends BufferField<true> {
  /** By the values that are part of the text. */
  readonly of: (form: AnyForm) => BufferField | undefined
}

export function byForm(of: (form: AnyForm) => BufferField | undefined): FormField {
  return { element: 'u32', access: 'read', optional: true, of }
}

/** A buffer that only some forms have; it is required there. */
export function inForms(has: (form: AnyForm) => boolean, field: BufferField): FormField {
  return byForm((form) => (has(form) ? field : undefined))
}

/**
 * `stride`: columns of a row with padding; a shader has them in quads, as `quads` for `stride` and `outQuads` for `outStride`.
 * `host`: a number from which the host derives how the work is cut; kernels do not get it.
 */
export type ParamField = ParamType | 'stride' | 'host'

export type Field = ParamField | BufferField | VectorsField | MatrixField | CompiledField
export type Fields = Readonly<Record<string, Field>>
export type NoFields = Readonly<Record<never, never>>

/** Values that are part of the text of a shader: types of vectors, and compiled fields. */
export type AnyForm = Readonly<Record<string, string | number | boolean>>
export type FormOf<F> = {
  readonly [K in keyof F as F[K] extends VectorsField | CompiledField ? K : never]: F[K] extends DenseVectors
    ? ElementType
    : F[K] extends AnyVectors
      ? RowType
      : F[K] extends CompiledField<infer T>
        ? T
        : never
}

type Value<F, Buffer> = F extends 'bool'
  ? boolean
  : F extends ParamField
    ? number
    : F extends VectorsField
      ? DeviceRows
      : F extends MatrixField
        ? MatrixRows
        : F extends CompiledField<infer T>
          ? T
          : F extends BufferField<true>
            ? Buffer | undefined
            : Buffer

type Values<F, Buffer> = WithOptional<{ readonly [K in keyof F]: Value<F[K], Buffer> }>

/** Arguments by name, for the CPU: buffers with the number of elements that are touched. */
export type FunctionArgs<F> = Values<F, Elements>
/** Arguments by name, for WebGPU. */
export type ShaderArgs<F> = Values<F, DeviceBuffer | BufferPart | Elements>

export function isVectors(field: Field): field is VectorsField {
  return typeof field === 'object' && 'vectors' in field
}

export function isMatrix(field: Field): field is MatrixField {
  return typeof field === 'object' && 'matrix' in field
}

export function isCompiled(field: Field): field is CompiledField {
  return typeof field === 'object' && 'compiled' in field
}
