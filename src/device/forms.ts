/**
 * Kernels that exist in more than one form for WebGPU. All forms of a kernel meet the same contract; they differ in
 * speed, which depends on the adapter. A kernel ignores a form that does not apply to its arguments.
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

/** The form to use of each kernel. Default: chosen by the kernel. */
export type KernelForms = { readonly [K in keyof typeof KERNEL_FORMS]?: (typeof KERNEL_FORMS)[K][number] }
export type AssignForm = NonNullable<KernelForms['assign']>
