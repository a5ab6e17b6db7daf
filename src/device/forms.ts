/**
 * Kernels that exist in more than one form for WebGPU. All forms of a kernel meet the same contract; they differ in
 * speed, which depends on the adapter and on the shape of the arguments. A kernel ignores a form that does not apply to
 * its arguments.
 */
export const KERNEL_FORMS = {
  /** `blocks` has no barriers; the others are for hardware. `bytes` applies to points of bytes only. */
  assign: ['blocks', 'tiles', 'wide-tiles', 'scalar', 'bytes'],
  /** Of points of bytes, in place of `assign`. */
  assignBytes: ['blocks', 'tiles', 'wide-tiles', 'scalar', 'bytes'],
  /** `blocks` has no barriers; `tiles` are for hardware. */
  matmul: ['blocks', 'tiles'],
  gram: ['blocks', 'tiles'],
  /** `tiles` measure by differences, `products` by dot products where those have enough digits. */
  distances: ['blocks', 'tiles', 'products'],
  /** `respondAll`; lists have one form. */
  respond: ['blocks', 'tiles', 'products'],
} as const

export type KernelName = keyof typeof KERNEL_FORMS
type FormsOfKernels = { readonly [K in KernelName]?: (typeof KERNEL_FORMS)[K][number] }

/** Kernels that have `tiles` besides `blocks`, with different rounding. */
export type TiledKernel = 'matmul' | 'gram' | 'distances' | 'respond'

/**
 * Software drivers execute most kernels faster without barriers, and these faster in tiles, as `npm run bench -- forms`
 * shows. Fixed for each driver instead of timed: forms that round differently must not be exchanged by a measurement.
 */
const TILES_IN_SOFTWARE: Readonly<Record<string, readonly TiledKernel[]>> = {
  swiftshader: ['gram', 'respond'],
  llvmpipe: ['distances', 'respond'],
}

/** Kernels that the software adapter of that name runs in tiles in large calls, if the arguments fill the tiles. */
export function softwareTiles(adapter: string): readonly TiledKernel[] {
  const driver = Object.keys(TILES_IN_SOFTWARE).find((name) => adapter.toLowerCase().includes(name))
  return driver === undefined ? [] : TILES_IN_SOFTWARE[driver]
}

/** Shapes for which forms are chosen apart from the others. `narrow`: rows of fewer columns than this. */
export const SHAPE_CLASSES = ['narrow'] as const
export const NARROW_COLUMNS = 48

/** The form to use of each kernel, and of those for narrow rows where it is another one. Default: chosen by the kernel. */
export type KernelForms = FormsOfKernels & { readonly narrow?: FormsOfKernels }
export type AssignForm = NonNullable<KernelForms['assign']>

/** The form chosen for rows of so many columns. Undefined: none was chosen. */
export function formOf<K extends KernelName>(forms: KernelForms, kernel: K, columns: number): KernelForms[K] {
  return (columns < NARROW_COLUMNS ? forms.narrow?.[kernel] : undefined) ?? forms[kernel]
}
