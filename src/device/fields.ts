/**
 * The types of what kernels are given. A kernel declares each parameter and buffer once, by name, and both sides follow from
 * that: the bindings and parameters of a shader (`src/kernels/kernel-shader.ts`), the arguments of a WebAssembly function
 * (`src/kernels/declared-function.ts`).
 */
import type { BufferPart, DeviceBuffer } from './contract.ts'

/** A number that is passed by value. `bool` is a u32 that is 0 or 1 in the kernel. */
export type ParamType = 'u32' | 'i32' | 'f32' | 'f64' | 'bool'

/** Bytes of the elements that buffers may have. The names are those of WGSL where it has the type. */
const ELEMENT_BYTES = {
  u8: 1,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  'atomic<u32>': 4,
  f64: 8,
  vec2f: 8,
  vec2u: 8,
  vec4f: 16,
  vec4u: 16,
} as const

export type Element = keyof typeof ELEMENT_BYTES

export interface BufferField<Optional extends boolean = boolean> {
  readonly element: Element
  readonly access: 'read' | 'write'
  /** Whether the kernel works without it. */
  readonly optional: Optional
}

/** A buffer that a kernel reads. */
export function reads(element: Element): BufferField<false> {
  return { element, access: 'read', optional: false }
}

/** A buffer that a kernel writes, and may read. */
export function writes(element: Element): BufferField<false> {
  return { element, access: 'write', optional: false }
}

/** A buffer that a kernel reads if there is one. */
export function mayRead(element: Element): BufferField<true> {
  return { element, access: 'read', optional: true }
}

/** A buffer that a WebAssembly function writes if there is one. Shaders have `inForms` for that: WebGPU has no empty binding. */
export function mayWrite(element: Element): BufferField<true> {
  return { element, access: 'write', optional: true }
}

/** The first elements of a buffer, as many as the kernel touches. */
export interface Elements {
  readonly target: DeviceBuffer | BufferPart
  readonly count: number
}

/** The first `count` elements of a buffer; by default all, for buffers of 32-bit elements. Nothing stays nothing. */
export function elements(target: DeviceBuffer | BufferPart, count?: number): Elements
export function elements(target: DeviceBuffer | BufferPart | undefined, count?: number): Elements | undefined
export function elements(target: DeviceBuffer | BufferPart | undefined, count?: number): Elements | undefined {
  return target && { target, count: count ?? target.bytes / 4 }
}

/** The number of elements that were stated. */
export function countOf(value: DeviceBuffer | BufferPart | Elements): number {
  if (isElements(value)) return value.count
  throw new Error('The number of elements is needed here')
}

export function elementBytesOf(element: Element): number {
  return ELEMENT_BYTES[element]
}

export function isBufferField(field: unknown): field is BufferField {
  return typeof field === 'object' && field !== null && 'element' in field
}

export function isElements(value: unknown): value is Elements {
  return typeof value === 'object' && value !== null && 'target' in value
}

/** Properties that may be undefined may be left out. */
export type WithOptional<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: T[K]
}
