/**
 * The shader side of a declared kernel: the text of bindings and parameters, the layout of the bind group, and the packing
 * of arguments. See declared-kernel.ts.
 *
 * Buffers are found under their names, parameters in `params`, threads of a workgroup in `WORKGROUP`. Where a buffer
 * `weights` is optional, `params.hasWeights` is 1 if it was given. Vectors `points` are `x` as in formulas, others have their
 * own name; `xPart(row, t, quads)` gives columns 4t to 4t + 3 of a dense row as floats. The first vectors bring `params.quads`
 * along. Sparse rows have their values in `x`, and entries offsets[i] to offsets[i + 1] of row i; the column of an entry is at
 * offsets[params.columnsAt + entry].
 */
import type { ElementType } from '../core/matrix.ts'
import { type BufferPart, checkPart, type DeviceBuffer, f32, partOf, type ShaderFeatures } from '../device/contract.ts'
import { type BufferField, type Elements, elementBytesOf, isElements } from '../device/fields.ts'
import type { SharedConstants } from './declared-function.ts'
import {
  type AnyForm,
  type Field,
  type FormField,
  isCompiled,
  isMatrix,
  isVectors,
  type MatrixField,
  type MatrixRows,
  type ParamField,
  type VectorsField,
} from './kernel-fields.ts'
import { type DeviceRows, denseType, sparsePlaces } from './rows.ts'

type Args = Readonly<Record<string, unknown>>
type Target = DeviceBuffer | BufferPart

interface Binding {
  readonly name: string
  readonly access: 'r' | 'w'
  readonly element: string
  /** Text behind the binding. */
  readonly more: string
  /** Undefined if it was not given. */
  of(args: Args): Target | undefined
}

interface Word {
  readonly name: string
  readonly type: 'u32' | 'i32' | 'f32'
  of(args: Args): number
}

export interface ShaderText {
  readonly workgroup: number
  readonly products: number | undefined
  readonly enables: readonly (keyof ShaderFeatures)[]
  readonly constants: readonly SharedConstants[]
  body(features: ShaderFeatures): string
}

/** One shader of a kernel: there is one for each form. */
export interface KernelShader {
  readonly name: string
  /** Storage that is read (r) or written (w), then the parameters (u). */
  readonly layout: string
  readonly workgroup: number
  /** Dot products that a lane computes at a time, where a loop around the hot one uses them: `npm run gpu:stats` counts both. */
  readonly products?: number
  code(features: ShaderFeatures): string
  bindings(args: Args): Target[]
  words(args: Args): number[]
}

export function makeShader(
  name: string,
  fields: readonly (readonly [string, Field])[],
  form: AnyForm,
  text: ShaderText,
): KernelShader {
  const bindings: Binding[] = []
  const words: Word[] = []
  for (const [key, field] of fields) addField(name, key, field, form, bindings, words)
  const layout = bindings.map(({ access }) => access).join('') + (words.length > 0 ? 'u' : '')
  return {
    name,
    layout,
    workgroup: text.workgroup,
    ...(text.products === undefined ? {} : { products: text.products }),
    code(features) {
      // Before all declarations.
      const enabled = text.enables
        .filter((extension) => features[extension])
        .map((extension) => `enable ${extension};\n`)
      return enabled.join('') + header(bindings, words, text) + text.body(features)
    },
    bindings: (args) => bindings.map((binding) => binding.of(args) ?? standIn(name, binding, bindings, args)),
    words: (args) => words.map((word) => word.of(args)),
  }
}

function header(bindings: readonly Binding[], words: readonly Word[], { workgroup, constants }: ShaderText): string {
  const lines = [`const WORKGROUP = ${workgroup}u;`]
  for (const { declared } of constants) {
    for (const [name, { type, value }] of Object.entries(declared)) {
      lines.push(`const ${name} = ${value}${type === 'u32' ? 'u' : 'f'};`)
    }
  }
  bindings.forEach(({ name, access, element, more }, number) => {
    const mode = access === 'w' ? 'read_write' : 'read'
    lines.push(`@group(0) @binding(${number}) var<storage, ${mode}> ${name}: array<${element}>;${more}`)
  })
  if (words.length > 0) {
    lines.push(`struct Params { ${words.map(({ name, type }) => `${name}: ${type}`).join(', ')} }`)
    lines.push(`@group(0) @binding(${bindings.length}) var<uniform> params: Params;`)
  }
  return `${lines.join('\n')}\n`
}

function addField(kernel: string, key: string, field: Field, form: AnyForm, bindings: Binding[], words: Word[]): void {
  if (field === 'host') return
  if (typeof field === 'string') words.push(wordOf(kernel, key, field))
  else if (isVectors(field)) addVectors(key, field, form, bindings, words)
  else if (isMatrix(field)) bindings.push(matrixOf(kernel, key, field, form))
  else if (!isCompiled(field)) addBuffer(kernel, key, field, form, bindings, words)
}

function wordOf(kernel: string, key: string, type: Exclude<ParamField, 'host'>): Word {
  if (type === 'f32' || type === 'f64') return { name: key, type: 'f32', of: (args) => f32(args[key] as number) }
  if (type === 'bool') return { name: key, type: 'u32', of: (args) => (args[key] ? 1 : 0) }
  const whole = (value: unknown): number => {
    if (Number.isInteger(value)) return value as number
    throw new Error(`${kernel}: parameter ${key} is ${value}, not a whole number`)
  }
  if (type !== 'stride') return { name: key, type, of: (args) => whole(args[key]) }
  const name = key.replace('stride', 'quads').replace('Stride', 'Quads')
  return { name, type: 'u32', of: (args) => whole((args[key] as number) / 4) }
}

function addVectors(key: string, field: VectorsField, form: AnyForm, bindings: Binding[], words: Word[]): void {
  const name = key === 'points' ? 'x' : key
  const rows = (args: Args) => args[key] as DeviceRows
  const type = form[key] as DeviceRows['type']
  const first = !words.some((word) => word.name === 'quads')
  if (first) words.push({ name: 'quads', type: 'u32', of: (args) => rows(args).stride / 4 })
  const of = (args: Args) => rows(args).buffer
  if (type === 'csr') {
    words.push({ name: 'columnsAt', type: 'u32', of: (args) => sparsePlaces(rows(args)).columnsAt })
    bindings.push({ name, access: 'r', element: 'f32', more: '', of })
    bindings.push({
      name: 'offsets',
      access: 'r',
      element: 'u32',
      more: '',
      of: (args) => sparsePlaces(rows(args)).places,
    })
  } else {
    const element = type === 'u8' ? 'u32' : field.flat ? 'f32' : 'vec4f'
    bindings.push({ name, access: 'r', element, more: field.flat ? '' : partText(name, type), of })
  }
}

function partText(name: string, type: ElementType): string {
  const value = `${name}[row * quads + t]`
  const part = type === 'u8' ? `vec4f(unpack4xU8(${value}))` : value
  return `\nfn ${name}Part(row: u32, t: u32, quads: u32) -> vec4f { return ${part}; }`
}

function matrixOf(kernel: string, name: string, { matrix, flat }: MatrixField, form: AnyForm): Binding {
  const isFlat = flat ? flat(form) : Object.values(form).includes('csr')
  return {
    name,
    access: matrix === 'write' ? 'w' : 'r',
    element: isFlat ? 'f32' : 'vec4f',
    more: '',
    of(args) {
      const { buffer, rows, stride } = args[name] as MatrixRows
      checkPart(`${kernel}: ${name}`, partOf(buffer), rows * stride * 4)
      return buffer
    },
  }
}

function addBuffer(
  kernel: string,
  name: string,
  declared: BufferField | FormField,
  form: AnyForm,
  bindings: Binding[],
  words: Word[],
): void {
  const isPartial = 'of' in declared
  const field = isPartial ? declared.of(form) : declared
  if (field === undefined) return
  const optional = declared.optional && !isPartial
  const access = field.access === 'write' ? 'w' : 'r'
  // A buffer that is read is bound in place of an absent one, and a dispatch cannot also write it.
  if (optional && access === 'w') throw new Error(`${kernel}: ${name} is written and needs inForms`)
  if (optional) {
    const presence = `has${name[0].toUpperCase()}${name.slice(1)}`
    words.push({ name: presence, type: 'u32', of: (args) => (args[name] === undefined ? 0 : 1) })
  }
  const elementBytes = elementBytesOf(field.element)
  bindings.push({
    name,
    access,
    element: field.element,
    more: '',
    of(args) {
      const value = args[name] as Target | Elements | undefined
      if (value === undefined) {
        if (optional) return undefined
        throw new Error(`${kernel}: no buffer for ${name}`)
      }
      if (!isElements(value)) return value
      checkPart(`${kernel}: ${name}`, partOf(value.target), value.count * elementBytes)
      return value.target
    },
  })
}

/** An absent buffer is replaced by one that is read anyway: WebGPU binds something everywhere. */
function standIn(kernel: string, { name }: Binding, bindings: readonly Binding[], args: Args): Target {
  for (const { access, of } of bindings) {
    const other = access === 'r' ? of(args) : undefined
    if (other) return other
  }
  throw new Error(`${kernel}: no buffer for ${name}`)
}

/** The values that are part of the text, as arguments have them. */
export function formOf(fields: readonly (readonly [string, Field])[], args: Args): AnyForm {
  const form: Record<string, string | number | boolean> = {}
  for (const [key, field] of fields) {
    if (isCompiled(field)) form[key] = args[key] as string | number | boolean
    else if (isVectors(field)) {
      const rows = args[key] as DeviceRows
      form[key] = field.vectors === 'dense' ? denseType(rows) : rows.type
    }
  }
  return form
}

/** `name-tiles-f32-wide-registers4`: flags are named where they are set, numbers where they are not zero. */
export function formName(name: string, fields: readonly (readonly [string, Field])[], form: AnyForm): string {
  let text = name
  for (const [key] of fields) {
    const value = form[key]
    if (value === true) text += `-${key}`
    else if (typeof value === 'string') text += `-${value}`
    else if (value !== false && value !== 0) text += `-${key}${value}`
  }
  return text
}
