/**
 * The peak of an adapter, measured: fp32 multiply-adds in registers, and copying memory. Shares of the benchmark are
 * relative to these, so they mean the same on any device.
 */
import type { Device } from '../../src/index.ts'
import { type ComputePass, finished, runPass } from './timed-device.ts'

export interface Peak {
  /** Multiply-adds count as two operations. */
  readonly gflops: number
  /** Bytes read plus bytes written. */
  readonly gigabytes: number
  /** What a submit and the wait for it take without any work. */
  readonly overheadSeconds: number
}

const THREADS = 256
/** Independent chains of multiply-adds, so that none waits for its own result. */
const CHAINS = 8
const chains = (line: (chain: number) => string): string => Array.from({ length: CHAINS }, (_, i) => line(i)).join('\n')

const multiplyAdds = {
  name: 'calibrate-multiply-add',
  code: () => `
struct Params { iterations: u32, factor: f32 }
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(${THREADS})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let factor = vec4f(params.factor);
  let start = f32(id.x) * 1e-6;
${chains((i) => `  var sum${i} = vec4f(start + ${i}.0);`)}
  for (var i = 0u; i < params.iterations; i++) {
${chains((i) => `    sum${i} = fma(sum${i}, factor, factor);`).repeat(4)}
  }
  let sum = ${Array.from({ length: CHAINS }, (_, i) => `sum${i}`).join(' + ')};
  // Never true, but the compiler cannot know.
  if (sum.x + sum.y + sum.z + sum.w == 12345.678) { out[0] = sum.x; }
}
`,
}
const OPERATIONS_PER_ITERATION = CHAINS * 4 * 4 * 2

const copy = {
  name: 'calibrate-copy',
  code: () => `
struct Params { quads: u32 }
@group(0) @binding(0) var<storage, read> original: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> copied: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  // Four loads a thread, each next to those of the neighbouring threads.
  let stride = groups.x * ${THREADS}u;
  let first = workgroup.x * ${THREADS}u + local;
  for (var i = 0u; i < 4u; i++) {
    let at = first + i * stride;
    if (at < params.quads) { copied[at] = original[at]; }
  }
}
`,
}

const REPEATS = 5
/** Iterations are doubled until a dispatch takes this long. */
const LONG_SECONDS = 0.05

export async function measurePeak(device: Device): Promise<Peak> {
  const { software } = device.info
  const threads = software ? 4096 : 2 ** 20
  const bytes = Math.min(software ? 2 ** 26 : 2 ** 28, device.info.limits.bindingBytes)
  const [from, to] = ['from', 'to'].map((label) => device.allocate(bytes, `calibration ${label}`))
  const timed = async (pass: ComputePass): Promise<number> => {
    const began = performance.now()
    await runPass(device, pass)
    await finished(device, to)
    return (performance.now() - began) / 1000
  }
  const shortest = async (once: () => Promise<number>): Promise<number> => {
    const seconds: number[] = []
    for (let i = 0; i < REPEATS; i++) seconds.push(await once())
    return Math.min(...seconds)
  }
  /** By the clock of the GPU, or by that of the host without what a submit takes. */
  const kernelSeconds = async (pass: ComputePass, overhead: number): Promise<number> => {
    const byGpu = await shortest(async () => (await device.gpuSeconds?.(() => runPass(device, pass))) ?? Number.NaN)
    return byGpu > 0 ? byGpu : (await shortest(() => timed(pass))) - overhead
  }
  try {
    const arithmetic = (iterations: number) => ({
      shader: multiplyAdds,
      bindings: [to],
      params: [iterations, 0x3f000000], // 0.5
      groups: [threads / THREADS] as const,
    })
    const nothing = { ...arithmetic(0), groups: [1] as const }
    await timed(nothing)
    const overheadSeconds = await shortest(() => timed(nothing))
    let iterations = 64
    while ((await timed(arithmetic(iterations))) < LONG_SECONDS && iterations < 2 ** 20) iterations *= 2
    const seconds = await kernelSeconds(arithmetic(iterations), overheadSeconds)
    const copying = {
      shader: copy,
      bindings: [from, to],
      params: [bytes / 16],
      groups: [Math.ceil(bytes / 16 / THREADS / 4)] as const,
    }
    await timed(copying)
    const copied = await kernelSeconds(copying, overheadSeconds)
    return {
      gflops: (threads * iterations * OPERATIONS_PER_ITERATION) / seconds / 1e9,
      gigabytes: (2 * bytes) / copied / 1e9,
      overheadSeconds,
    }
  } finally {
    from.free()
    to.free()
  }
}
