/** Which form of a kernel serves where a GPU cannot compile the shaders of another. */
import type { GpuTarget, Shader } from '../device/contract.ts'

/** The form, or the first one after it in `order` whose shaders can be used; the last one has nothing after it. */
export function usableForm<F>(
  gpu: GpuTarget,
  form: F,
  order: readonly F[],
  shaders: (form: F) => readonly Shader[],
): F {
  const rest = order.slice(Math.max(0, order.indexOf(form)))
  return rest.find((one) => shaders(one).every((shader) => gpu.usable(shader))) ?? rest[rest.length - 1]
}
