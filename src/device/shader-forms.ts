/**
 * Shaders that come in several forms, made by a function of a few arguments. The function states the arguments of the forms
 * that hardware GPUs run, so that tools find them without a list of their own: `npm run gpu:stats` and the tests compile all.
 */
import type { Shader } from './contract.ts'

/** Forms for dense rows of each element type. */
export const DENSE_TYPES = [['f32'], ['u8']] as const

interface FormOptions {
  /** Dot products that a lane computes at a time, where a loop around the hot one uses them: `npm run gpu:stats` counts both. */
  readonly products?: number
}

/** A function that makes a shader, and the arguments of its forms. */
export type ShaderForms<A extends readonly unknown[] = never[], S extends Shader = Shader> = ((...args: A) => S) &
  FormOptions & {
    /** Arguments of the forms for hardware. None: the shader is for software adapters. */
    readonly forms: readonly Readonly<A>[]
  }

/** `forms`: arguments of the forms that hardware GPUs run; empty for shaders that only software adapters run. */
export function shaderForms<A extends readonly unknown[], S extends Shader>(
  forms: readonly Readonly<NoInfer<A>>[],
  make: (...args: A) => S,
  options: FormOptions = {},
): ShaderForms<A, S> {
  return Object.assign(make, { forms, ...options })
}
