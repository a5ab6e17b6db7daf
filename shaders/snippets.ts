/** Pieces of WGSL that several kernels share. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'

/** In place of a label, a centre or a row where there is none. */
export const NO_LABEL = 0xffffffff
export const NONE = wgsl`const NONE = ${NO_LABEL}u;`

/** Farther than anything: in place of a distance where there is none. */
export const FARTHEST = 3.4e38
export const FAR = wgsl`const FAR = ${FARTHEST}f;`
/** Lower than the score of any centre. */
export const LOWEST = wgsl`const LOWEST = -${FARTHEST}f;`

/** Threads of a workgroup in kernels without workgroup memory. */
export const THREADS = 64

/** The number of this workgroup in a grid that may be folded into two dimensions. */
export const groupNumber = wgsl`
fn groupNumber(workgroup: vec3u, groups: vec3u) -> u32 {
  return workgroup.y * groups.x + workgroup.x;
}
`

/** The number of this thread in such a grid. */
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
