/**
 * Every WGSL kernel, in the forms that hardware GPUs run: those that src/kernels declares (`declareKernel`). Runs in pages too.
 */
import type { Shader, ShaderFeatures } from '../../src/device/contract.ts'
import type { Kernel as DeclaredKernel } from '../../src/kernels/declared-kernel.ts'

export interface Kernel {
  /** File of src/kernels, without its ending. */
  readonly file: string
  /** Name of the shader, with the entry point if there are several. */
  readonly name: string
  readonly code: string
  readonly entry: string
  readonly products?: number
}

/** What files export, by their names. */
export type ShaderModules = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const isKernel = (value: unknown): value is DeclaredKernel =>
  typeof value === 'object' && value !== null && 'shaders' in value && 'pass' in value

export function kernelsOf(modules: ShaderModules, features: ShaderFeatures): Kernel[] {
  return Object.entries(modules).flatMap(([file, exports]) =>
    declaredIn(exports).flatMap(({ shaders }) =>
      shaders.flatMap((shader) => entriesOf(file, shader, features, shader.products)),
    ),
  )
}

/** The kernels among what a file exports. */
export function declaredIn(exports: Readonly<Record<string, unknown>>): DeclaredKernel[] {
  return Object.values(exports).filter(isKernel)
}

/** One kernel for every entry point of a shader. */
function entriesOf(file: string, shader: Shader, features: ShaderFeatures, products?: number): Kernel[] {
  const code = shader.code(features)
  const plain = code.replace(/\/\/.*$/gm, '')
  const entries = [...plain.matchAll(/@compute\b[^{;]*?\bfn\s+(\w+)/g)].map(([, entry]) => entry)
  return entries.map((entry) => ({
    file,
    name: entries.length === 1 ? shader.name : `${shader.name}:${entry}`,
    code,
    entry,
    ...(products === undefined ? {} : { products }),
  }))
}
