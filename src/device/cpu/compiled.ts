/** The kernels, compiled once per process: devices that are opened later take the same module. */
import { platform } from '#platform'
import { CentroidalError } from '../../core/errors.ts'

export interface CompiledKernels {
  readonly module: WebAssembly.Module
  /** Whether it is the build with relaxed SIMD. */
  readonly relaxed: boolean
}

/** Each build is a module of its own: bundlers that split code load the one that is used. */
const BUILDS = {
  relaxedShared: async () => (await import('../../../wasm/build/relaxedShared.js')).relaxedShared,
  relaxedSingle: async () => (await import('../../../wasm/build/relaxedSingle.js')).relaxedSingle,
  simdShared: async () => (await import('../../../wasm/build/simdShared.js')).simdShared,
  simdSingle: async () => (await import('../../../wasm/build/simdSingle.js')).simdSingle,
}

/** By build. A build that failed to compile is not kept. */
const compiled = new Map<string, Promise<CompiledKernels>>()

export function compileKernels(shared: boolean, wantRelaxed: boolean, checked?: string): Promise<CompiledKernels> {
  if (checked) return compileChecked(checked)
  const build = `${shared ? 'shared' : 'single'} ${wantRelaxed ? 'relaxed' : 'simd'}`
  const kept = compiled.get(build)
  if (kept) return kept
  const compiling = compile(shared, wantRelaxed)
  compiled.set(build, compiling)
  compiling.catch(() => compiled.delete(build))
  return compiling
}

/** Only tests ask for the checked build. */
async function compileChecked(checked: string): Promise<CompiledKernels> {
  await platform.enableRelaxedSimd()
  return { module: await WebAssembly.compile(decode(checked)), relaxed: true }
}

async function compile(shared: boolean, wantRelaxed: boolean): Promise<CompiledKernels> {
  if (wantRelaxed) {
    await platform.enableRelaxedSimd()
    const bytes = decode(await BUILDS[shared ? 'relaxedShared' : 'relaxedSingle']())
    if (WebAssembly.validate(bytes)) return { module: await WebAssembly.compile(bytes), relaxed: true }
  }
  const bytes = decode(await BUILDS[shared ? 'simdShared' : 'simdSingle']())
  if (!WebAssembly.validate(bytes)) {
    throw new CentroidalError(
      'no-device',
      'WebAssembly SIMD is not available: use Node 20 or later, or a browser of 2023 or later.',
    )
  }
  return { module: await WebAssembly.compile(bytes), relaxed: false }
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}
