/**
 * Where a GPU cannot compile a shader, the work that needs it runs in another form. Before anything of a work is recorded, its passes
 * are listed and their pipelines compiled, all at the same time. If one fails, the work is asked for its passes again:
 *
 * 1. `usable` is false for the shader, and kernels with several forms for hardware take the next one;
 * 2. a work that still needs it is asked for its forms without tiles, which need no workgroup memory;
 * 3. a work that needs it even then fails with the compiler's message.
 */
import type { ComputePass, GpuTarget, Shader, Work } from '../contract.ts'
import type { PipelineCache } from './pipelines.ts'

/** Passes are listed to see their shaders only: few and long ones do. */
const ANY_LENGTH = 2 ** 52

export interface UsableTarget {
  /** The target for which to ask the work for its passes. */
  readonly target: GpuTarget
  /** The passes, as few and as long as they can be. */
  readonly longest: readonly ComputePass[]
}

/** `onFailure` is called with shaders that could not be compiled. */
export async function usableTarget(
  gpu: GpuTarget,
  work: Work,
  pipelines: PipelineCache,
  onFailure: (shader: Shader, failure: Error) => void,
): Promise<UsableTarget> {
  for (let target = gpu; ; ) {
    const passes = [...work.webgpu(changed(target, { operationsPerPass: ANY_LENGTH }))]
    const hasFailed = ({ shader }: ComputePass): boolean => pipelines.failure(shader) !== undefined
    const known = passes.some(hasFailed)
    await compile(passes, pipelines)
    const failed = passes.find(hasFailed)
    if (failed === undefined) return { target, longest: passes }
    const failure = pipelines.failure(failed.shader) as Error
    onFailure(failed.shader, failure)
    // Asked again, a kernel may do without shaders that it did not know about.
    if (!known) continue
    if (target !== gpu) throw failure
    target = changed(gpu, { tiled: false, softwareTiles: [], forms: {} })
  }
}

/** Waits only where something is not compiled yet. Never rejects. */
export async function compile(passes: readonly ComputePass[], pipelines: PipelineCache): Promise<void> {
  const waiting = passes.map((pass) => pipelines.prepare(pass)).filter((compiling) => compiling !== undefined)
  if (waiting.length > 0) await Promise.all(waiting)
}

function changed(
  gpu: GpuTarget,
  changes: Partial<Pick<GpuTarget, 'tiled' | 'softwareTiles' | 'forms' | 'operationsPerPass'>>,
): GpuTarget {
  return {
    limits: gpu.limits,
    features: gpu.features,
    tiled: changes.tiled ?? gpu.tiled,
    softwareTiles: changes.softwareTiles ?? gpu.softwareTiles,
    forms: changes.forms ?? gpu.forms,
    // Changes while the work runs.
    get operationsPerPass() {
      return changes.operationsPerPass ?? gpu.operationsPerPass
    },
    usable: (shader) => gpu.usable(shader),
  }
}
