/** Pieces of WGSL that several kernels share. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'

/** In place of a label, a centre or a row where there is none. */
export const NO_LABEL = 0xffffffff
export const NONE = wgsl`const NONE = ${NO_LABEL}u;`

/** Threads of a workgroup in kernels without workgroup memory. */
export const THREADS = 64

/**
 * Rows of vectors at a binding: `rowPart(row, t)` gives columns 4t to 4t + 3 as floats. `quads` is the
 * number of such parts a row has. Floats are bound as vec4f, bytes as packed words.
 */
export const rowsBinding = (binding: number, type: ElementType, name = 'x'): string => wgsl`
#if ${type === 'u8'}
@group(0) @binding(${binding}) var<storage, read> ${name}: array<u32>;
fn ${name}Part(row: u32, t: u32, quads: u32) -> vec4f {
  return vec4f(unpack4xU8(${name}[row * quads + t]));
}
#else
@group(0) @binding(${binding}) var<storage, read> ${name}: array<vec4f>;
fn ${name}Part(row: u32, t: u32, quads: u32) -> vec4f {
  return ${name}[row * quads + t];
}
#endif
`

/**
 * Sparse rows at two bindings: row i has entries places[i] to places[i + 1]; the column of an entry
 * stands `columnsAt` further on than its number.
 */
export const sparseBindings = (binding: number): string => wgsl`
@group(0) @binding(${binding}) var<storage, read> values: array<f32>;
@group(0) @binding(${binding + 1}) var<storage, read> places: array<u32>;
`

/** The number of this thread in a grid that may be folded into two dimensions. */
export const threadNumber = wgsl`
fn threadNumber(workgroup: vec3u, groups: vec3u, local: u32) -> u32 {
  return (workgroup.y * groups.x + workgroup.x) * ${THREADS}u + local;
}
`

/** The builtins every barrier-free kernel takes. */
export const threadBuiltins = wgsl`
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
`
