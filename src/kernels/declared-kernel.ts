/**
 * Kernels declared once: what both devices are given, what only one of them is given, and how the work is cut. From the
 * declaration follow the bindings and the parameter block of the shader with its grid (kernel-shader.ts), and the arguments
 * and the scratch memory of the WebAssembly function with its items (declared-function.ts). Arguments are given once, by
 * name, and the compiler checks them.
 *
 * A kernel of several steps has a declaration for each, which share tables of fields. A step of one device alone has one side.
 */
import { THREADS } from '../../shaders/snippets.ts'
import type { ElementType } from '../core/matrix.ts'
import type {
  ComputePass,
  CpuJob,
  CpuMemory,
  Device,
  GpuTarget,
  RunControl,
  Shader,
  ShaderFeatures,
  Work,
} from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { type AreaBytes, type DeclaredFunction, declareFunction, type SharedConstants } from './declared-function.ts'
import {
  type AnyForm,
  type Field,
  type Fields,
  type FormOf,
  type FunctionArgs,
  isCompiled,
  isVectors,
  type NoFields,
  type ShaderArgs,
} from './kernel-fields.ts'
import { formName, formOf, type KernelShader, makeShader } from './kernel-shader.ts'
import { rowCuts } from './row-passes.ts'

const DENSE: readonly ElementType[] = ['f32', 'u8']

/** So many threads, or so many workgroups, which are all there once for each layer: the third dimension. */
export type Grid = number | { readonly groups: number; readonly layers?: number }

type Enabled = readonly (keyof ShaderFeatures)[]

/** Work over many items that takes several passes, each of which stays short. */
export interface Cut<A, N extends string> {
  /** Parameters for the first item of a pass, and for how many there are. */
  readonly params: readonly [N, N]
  /** All items. Default: `items`. */
  items?(args: A): number
  /** Arithmetic operations of an item. */
  operations(args: A): number
  /** Fewest items worth a pass. Default: the threads of a workgroup. */
  readonly atLeast?: number | ((args: A) => number)
}

/** What only the shader has. */
export interface ShaderSide<S extends Fields, G extends Fields, N extends string> {
  readonly args?: G
  /** The text after the bindings. */
  body(form: FormOf<S & G>, features: ShaderFeatures): string
  /** Threads of a workgroup. Default 64. */
  readonly workgroup?: number | ((form: FormOf<S & G>) => number)
  /** Default: a thread for each item. */
  grid?(args: ShaderArgs<S & G & Record<N, 'u32'>>): Grid
  /** Arithmetic operations of a pass, to keep submits short; of work that is cut, `cut` says it. */
  operations?(args: ShaderArgs<S & G>): number
  readonly cut?: Cut<ShaderArgs<S & G>, N>
  /** Extensions of the language that are enabled where the device has them. */
  readonly enables?: Enabled | ((form: FormOf<S & G>) => Enabled)
  /** Constants that WebAssembly has too. */
  readonly constants?: readonly SharedConstants[]
  /** Forms that hardware GPUs run, for `npm run gpu:stats` and the tests. Default: all of dense vectors and compiled values. */
  readonly forms?: readonly FormOf<S & G>[]
  /** As in `KernelShader`. */
  readonly products?: number | ((form: FormOf<S & G>) => number | undefined)
}

/** What only the WebAssembly function has. */
export interface FunctionSide<S extends Fields, C extends Fields> {
  /** The exported function. */
  readonly entry: string
  readonly args?: C
  /** Private memory of a thread, in areas that begin at multiples of 16 bytes. Default: none. */
  readonly scratch?: Readonly<Record<string, AreaBytes<S & C>>>
  /** Default: `items`. */
  items?(args: FunctionArgs<S & C>): number
  /** Items that a thread takes at a time. */
  readonly grain: number | ((args: FunctionArgs<S & C>, items: number) => number)
}

export interface KernelDeclaration<S extends Fields, G extends Fields, C extends Fields, N extends string> {
  /** What both devices are given. */
  readonly args: S
  items?(args: ShaderArgs<S>): number
  readonly gpu?: ShaderSide<S, G, N>
  readonly cpu?: FunctionSide<S, C>
}

export interface PassOptions {
  /** Share of the whole work that is done afterwards. */
  readonly share?: number
  readonly operations?: number
}

export interface PassesOptions {
  /** Share of the whole work that is done when so many items are. */
  readonly share?: (done: number) => number
  /** Most items of a pass, where memory limits them. */
  readonly atMost?: number | undefined
}

export interface Kernel<
  S extends Fields = Fields,
  G extends Fields = Fields,
  C extends Fields = Fields,
  N extends string = never,
> {
  readonly name: string
  /** One dispatch. */
  pass(gpu: GpuTarget, args: ShaderArgs<S & G & Record<N, 'u32'>>, options?: PassOptions): ComputePass
  /** The work of all items in passes that each stay short. */
  passes(gpu: GpuTarget, args: ShaderArgs<S & G>, options?: PassesOptions): Generator<ComputePass>
  job(memory: CpuMemory, args: FunctionArgs<S & C>): CpuJob
  /** The kernel alone, on either device. */
  run(device: Device, args: FunctionArgs<S & C> & ShaderArgs<G>, control?: RunControl): Promise<void>
  /** The shader of a form, to ask whether it is usable. */
  shader(form: FormOf<S & G>): Shader
  /** The shaders that hardware GPUs run. */
  readonly shaders: readonly KernelShader[]
  readonly declaredFunction?: DeclaredFunction
}

type Loose = Readonly<Record<string, unknown>>

export function declareKernel<
  const S extends Fields,
  const G extends Fields = NoFields,
  const C extends Fields = NoFields,
  const N extends string = never,
>(name: string, declaration: KernelDeclaration<S, G, C, N>): Kernel<S, G, C, N> {
  const { gpu: shaderSide, cpu } = declaration
  const shaders = shaderSide && new KernelShaders(name, declaration.args, shaderSide, declaration.items)
  const side = (): KernelShaders => {
    if (shaders === undefined) throw new Error(`${name} has no shader`)
    return shaders
  }
  const declared =
    cpu &&
    declareFunction(cpu.entry, { args: { ...declaration.args, ...cpu.args }, scratch: (cpu.scratch ?? {}) as never })
  const job = (memory: CpuMemory, args: Loose): CpuJob => {
    if (cpu === undefined || declared === undefined) throw new Error(`${name} has no function`)
    const given = args as FunctionArgs<S & C>
    const count = cpu.items ?? declaration.items
    if (count === undefined) throw new Error(`${name} does not say how many items there are`)
    const items = count(given as never)
    const grain = typeof cpu.grain === 'number' ? cpu.grain : cpu.grain(given, items)
    return declared.job(memory, args as never, { items, grain })
  }
  return {
    name,
    pass: (gpu, args, options) => side().pass(gpu, args as Loose, options),
    passes: (gpu, args, options) => side().passes(gpu, args as Loose, options),
    job: (memory, args) => job(memory, args as Loose),
    run(device, args, control) {
      const work: Work = {
        name,
        *webgpu(gpu) {
          if (shaders === undefined) return
          if (shaderSide?.cut) yield* shaders.passes(gpu, args as Loose)
          else yield shaders.pass(gpu, args as Loose)
        },
        *cpu(memory) {
          if (cpu !== undefined) yield job(memory, args as Loose)
        },
      }
      return device.run(work, control)
    },
    shader: (form) => side().get(form as AnyForm),
    get shaders() {
      return shaders ? shaders.forHardware() : []
    },
    ...(declared ? { declaredFunction: declared as unknown as DeclaredFunction } : {}),
  }
}

/** The shaders of a kernel: one for each form, made when it is first asked for. */
class KernelShaders {
  readonly #name: string
  readonly #fields: readonly (readonly [string, Field])[]
  /** Those whose values are part of the text. */
  readonly #forming: readonly (readonly [string, Field])[]
  readonly #side: ShaderSide<Fields, Fields, string>
  readonly #items: ((args: Loose) => number) | undefined
  readonly #made = new Map<string, KernelShader>()

  constructor(name: string, shared: Fields, side: unknown, items: unknown) {
    this.#name = name
    this.#side = side as ShaderSide<Fields, Fields, string>
    this.#items = (this.#side.cut?.items ?? items) as ((args: Loose) => number) | undefined
    const cut: Fields = Object.fromEntries((this.#side.cut?.params ?? []).map((param) => [param, 'u32']))
    this.#fields = Object.entries({ ...cut, ...shared, ...this.#side.args })
    const forming = this.#fields.filter(([, field]) => isVectors(field) || isCompiled(field))
    // First in the names.
    this.#forming = forming.sort(([a], [b]) => Number(b === 'form') - Number(a === 'form'))
  }

  get(form: AnyForm): KernelShader {
    const name = formName(this.#name, this.#forming, form)
    let made = this.#made.get(name)
    if (made === undefined) {
      const { workgroup = THREADS, enables = [], constants = [], products, body } = this.#side
      made = makeShader(name, this.#fields, form, {
        workgroup: typeof workgroup === 'number' ? workgroup : workgroup(form as never),
        enables: typeof enables === 'function' ? enables(form as never) : enables,
        products: typeof products === 'function' ? products(form as never) : products,
        constants,
        body: (features) => body(form as never, features),
      })
      this.#made.set(name, made)
    }
    return made
  }

  pass(gpu: GpuTarget, args: Loose, { share, operations }: PassOptions = {}): ComputePass {
    const shader = this.get(formOf(this.#forming, args))
    const { grid, cut } = this.#side
    const threads = grid ? grid(args as never) : cut ? (args[cut.params[1]] as number) : this.#allItems(args)
    const estimate = operations ?? this.#side.operations?.(args as never)
    return {
      shader,
      bindings: shader.bindings(args),
      params: shader.words(args),
      groups: groupsOf(threads, shader.workgroup, gpu.limits.workgroups),
      ...(estimate === undefined ? {} : { operations: estimate }),
      ...(share === undefined ? {} : { share }),
    }
  }

  *passes(gpu: GpuTarget, args: Loose, { share, atMost }: PassesOptions = {}): Generator<ComputePass> {
    const { cut } = this.#side
    if (cut === undefined) throw new Error(`${this.#name} does not say how its work is cut`)
    const rows = this.#allItems(args)
    const perRow = cut.operations(args as never)
    const { atLeast = THREADS, params } = cut
    const least = typeof atLeast === 'number' ? atLeast : atLeast(args as never)
    for (const { first, count } of rowCuts(gpu, { rows, perRow, atLeast: least, atMost })) {
      yield this.pass(
        gpu,
        { ...args, [params[0]]: first, [params[1]]: count },
        { operations: count * perRow, ...(share ? { share: share(first + count) } : {}) },
      )
    }
  }

  #allItems(args: Loose): number {
    if (this.#items === undefined) throw new Error(`${this.#name} does not say how many items there are`)
    return this.#items(args)
  }

  forHardware(): KernelShader[] {
    const { forms } = this.#side
    return (forms ?? allForms(this.#forming)).map((form) => this.get(form as AnyForm))
  }
}

function groupsOf(grid: Grid, workgroup: number, limit: number): ComputePass['groups'] {
  if (typeof grid === 'number') return gridFor(grid, workgroup, limit)
  const [x, y] = gridFor(grid.groups, 1, limit)
  return grid.layers === undefined ? [x, y] : [x, y, grid.layers]
}

function allForms(fields: readonly (readonly [string, Field])[]): AnyForm[] {
  let forms: AnyForm[] = [{}]
  for (const [key, field] of fields) {
    const values = isCompiled(field) ? field.compiled : DENSE
    forms = forms.flatMap((form) => values.map((value) => ({ ...form, [key]: value })))
  }
  return forms
}
