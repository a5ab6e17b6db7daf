/**
 * Shaders declared once: name, parameters, buffers and size of a workgroup. The text of the bindings and of the parameter
 * block, the layout of the bind group, the words of the parameters and the grid follow from the declaration; arguments are
 * given by name, and the compiler checks them.
 *
 * The body of a shader finds its buffers under their names, its parameters in `params`, and the threads of a workgroup in
 * `WORKGROUP`. Where a buffer `weights` is optional, `params.hasWeights` is 1 if it was given.
 */
import type { ElementType } from '../core/matrix.ts'
import {
  type BufferPart,
  type ComputePass,
  checkPart,
  type DeviceBuffer,
  f32,
  type GpuTarget,
  partOf,
  type ShaderFeatures,
} from './contract.ts'
import {
  type BufferField,
  type Elements,
  elementBytesOf,
  isElements,
  type ParamType,
  UNUSED,
  type WithOptional,
} from './fields.ts'
import { gridFor } from './plan.ts'

type GpuParam = Exclude<ParamType, 'f64'>

/** Rows of vectors; in the shader `xPart(row, t, quads)` gives columns 4t to 4t + 3 of a row of `x` as floats. */
export interface RowsBinding {
  readonly rows: ElementType
}

/** Rows of vectors of a type. */
export function rowsOf(rows: ElementType): RowsBinding {
  return { rows }
}

type Binding = BufferField | RowsBinding
type Params = Readonly<Record<string, GpuParam>>
type Buffers = Readonly<Record<string, Binding>>

type BufferValue<F> =
  F extends BufferField<true> ? DeviceBuffer | BufferPart | Elements | undefined : DeviceBuffer | BufferPart | Elements
type ParamValue<T> = T extends 'bool' ? boolean : number

/** Parameters and buffers by name. */
export type ShaderArgs<P extends Params, B extends Buffers> = {
  readonly [K in keyof P]: ParamValue<P[K]>
} & WithOptional<{
  readonly [K in keyof B]: BufferValue<B[K]>
}>

/** How many workgroups: enough for a number of threads or items, or stated outright. */
export type Grid =
  | { readonly items: number; readonly perGroup?: number }
  | { readonly groups: readonly [number, number?, number?] }

export type PassOptions = Grid & Pick<ComputePass, 'operations' | 'share'>

export interface ShaderDeclaration<P extends Params, B extends Buffers> {
  /** Unique: pipelines are kept by it. */
  readonly name: string
  readonly params: P
  /** In the order of the bindings. */
  readonly buffers: B
  /** Threads of a workgroup. */
  readonly workgroup: number
  /** Extensions of the language that are enabled where the device has them. Default: none. */
  readonly enables?: readonly (keyof ShaderFeatures)[]
  /** The text after the bindings. */
  body(features: ShaderFeatures): string
}

export interface DeclaredShader<P extends Params = Params, B extends Buffers = Buffers> {
  readonly name: string
  /** Storage that is read (r) or written (w), then the parameters (u). */
  readonly layout: string
  code(features: ShaderFeatures): string
  /** One dispatch with these arguments. */
  pass(gpu: GpuTarget, args: ShaderArgs<P, B>, options: PassOptions): ComputePass
}

export function declareShader<const P extends Params, const B extends Buffers>(
  declaration: ShaderDeclaration<P, B>,
): DeclaredShader<P, B> {
  const { name, workgroup, enables = [] } = declaration
  const buffers = Object.entries<Binding>(declaration.buffers).filter(([, field]) => field !== UNUSED)
  const optional = buffers.filter(([, field]) => isOptional(field)).map(([key]) => key)
  for (const [key, field] of buffers) {
    // A buffer that is read is bound in place of an absent one, and a dispatch cannot also write it.
    if (isOptional(field) && accessOf(field) === 'w') throw new Error(`${name}: ${key} is written and needs onlyIf`)
  }
  const params: [string, GpuParam][] = Object.entries(declaration.params)
  for (const key of optional) params.push([presenceOf(key), 'bool'])
  const layout = buffers.map(([, field]) => accessOf(field)).join('') + (params.length > 0 ? 'u' : '')
  const shader: DeclaredShader<P, B> = {
    name,
    layout,
    code(features) {
      // Before all declarations.
      const enabled = enables.filter((extension) => features[extension]).map((extension) => `enable ${extension};\n`)
      return enabled.join('') + header(params, buffers, workgroup) + declaration.body(features)
    },
    pass(gpu, args, { operations, share, ...grid }) {
      const given = args as Readonly<Record<string, unknown>>
      const bindings = buffers.map(([key, field]) => bindingOf(name, key, field, given, buffers))
      const words = params.map(([key, type]) =>
        type === 'f32' ? f32(given[key] as number) : wordOf(name, key, given, optional),
      )
      return {
        shader,
        bindings,
        params: words,
        groups: 'groups' in grid ? grid.groups : gridFor(grid.items, grid.perGroup ?? workgroup, gpu.limits.workgroups),
        ...(operations === undefined ? {} : { operations }),
        ...(share === undefined ? {} : { share }),
      }
    },
  }
  return shader
}

function header(
  params: readonly (readonly [string, GpuParam])[],
  buffers: readonly (readonly [string, Binding])[],
  workgroup: number,
): string {
  const fields = params.map(([key, type]) => `${key}: ${type === 'bool' ? 'u32' : type}`)
  const lines = [`const WORKGROUP = ${workgroup}u;`]
  buffers.forEach(([key, field], binding) => {
    lines.push(bindingText(binding, key, field))
  })
  if (params.length > 0) {
    lines.push(`struct Params { ${fields.join(', ')} }`)
    lines.push(`@group(0) @binding(${buffers.length}) var<uniform> params: Params;`)
  }
  return `${lines.join('\n')}\n`
}

function bindingText(binding: number, key: string, field: Binding): string {
  const element = 'rows' in field ? (field.rows === 'u8' ? 'u32' : 'vec4f') : field.element
  const access = accessOf(field) === 'w' ? 'read_write' : 'read'
  const declared = `@group(0) @binding(${binding}) var<storage, ${access}> ${key}: array<${element}>;`
  if (!('rows' in field)) return declared
  const value = `${key}[row * quads + t]`
  const part = field.rows === 'u8' ? `vec4f(unpack4xU8(${value}))` : value
  return `${declared}\nfn ${key}Part(row: u32, t: u32, quads: u32) -> vec4f { return ${part}; }`
}

function accessOf(field: Binding): 'r' | 'w' {
  return 'rows' in field || field.access === 'read' ? 'r' : 'w'
}

function isOptional(field: Binding): boolean {
  return !('rows' in field) && field.optional
}

function presenceOf(key: string): string {
  return `has${key[0].toUpperCase()}${key.slice(1)}`
}

/** An absent buffer is replaced by one that is read anyway: WebGPU binds something everywhere. */
function bindingOf(
  name: string,
  key: string,
  field: Binding,
  given: Readonly<Record<string, unknown>>,
  buffers: readonly (readonly [string, Binding])[],
): DeviceBuffer | BufferPart {
  let value = given[key] as DeviceBuffer | BufferPart | Elements | undefined
  if (value === undefined && isOptional(field)) {
    const standIn = buffers.find(([other, spec]) => accessOf(spec) === 'r' && given[other] !== undefined)
    value = standIn && (given[standIn[0]] as DeviceBuffer | BufferPart | Elements)
  }
  if (value === undefined) throw new Error(`${name}: no buffer for ${key}`)
  if (!isElements(value)) return value
  const { target, count } = value
  if (given[key] !== undefined && !('rows' in field)) {
    checkPart(`${name}: ${key}`, partOf(target), count * elementBytesOf(field.element))
  }
  return target
}

function wordOf(
  name: string,
  key: string,
  given: Readonly<Record<string, unknown>>,
  optional: readonly string[],
): number {
  const present = optional.find((buffer) => presenceOf(buffer) === key)
  const value = present === undefined ? given[key] : given[present] !== undefined
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new Error(`${name}: parameter ${key} is ${value}, not a whole number`)
}
