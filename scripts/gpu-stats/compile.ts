/** Compiles kernels for a GPU family in a child process under Mesa's shim. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CompiledKernel, parseCompiled } from './disassembly.ts'
import type { Driver } from './driver.ts'
import type { Family } from './families.ts'
import type { Kernel } from './kernels.ts'

export interface Compiled {
  readonly kernel: Kernel
  readonly result: CompiledKernel | { readonly error: string }
}

/** The driver could not be used at all. */
export class DriverError extends Error {}

const CHILD = fileURLToPath(new URL('compile-child.js', import.meta.url))

/** Kernels that crash the compiler are reported as errors; the others are compiled by another child. */
export function compileKernels(kernels: readonly Kernel[], family: Family, driver: Driver): Compiled[] {
  const compiled: Compiled[] = []
  while (compiled.length < kernels.length) {
    const rest = kernels.slice(compiled.length)
    const done = splitOutput(runChild(rest, family, driver), rest)
    compiled.push(...done)
  }
  return compiled
}

function runChild(kernels: readonly Kernel[], family: Family, { icd, shim }: Driver): string {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-gpu-stats-'))
  try {
    const file = join(folder, 'kernels.json')
    writeFileSync(file, JSON.stringify(kernels))
    const env = {
      ...process.env,
      LD_PRELOAD: shim,
      AMDGPU_GPU_ID: family.gpuId,
      VK_ICD_FILENAMES: icd,
      VK_DRIVER_FILES: icd,
      RADV_DEBUG: 'shaders,shaderstats,nocache',
    }
    return spawnSync(process.execPath, [CHILD, file], { env, encoding: 'utf8', maxBuffer: 2 ** 30 }).stderr
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the child printed for each kernel it came to. Throws a DriverError if it came to none. */
export function splitOutput(text: string, kernels: readonly Kernel[]): Compiled[] {
  const compiled: Compiled[] = []
  for (const [index, kernel] of kernels.entries()) {
    const begin = `\n@@ BEGIN ${index}\n`
    const from = text.indexOf(begin)
    if (from < 0) break
    const to = text.indexOf(`\n@@ END ${index}\n`, from)
    const body = text.slice(from + begin.length, to < 0 ? undefined : to)
    compiled.push({ kernel, result: to < 0 ? { error: 'the compiler crashed' } : parseResult(body) })
  }
  if (compiled.length > 0) return compiled
  const reason = text.includes('@@ NO ADAPTER')
    ? 'The driver offers no GPU. Driver and shim must be of the same version of Mesa.'
    : `The driver could not be started:\n${text.trim().slice(-2000)}`
  throw new DriverError(reason)
}

function parseResult(body: string): Compiled['result'] {
  const error = /^@@ ERROR (.*)$/m.exec(body)?.[1]
  if (error !== undefined) return { error }
  try {
    return parseCompiled(body)
  } catch (failure) {
    return { error: (failure as Error).message }
  }
}
