import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ShaderModules } from './kernels.ts'

/** Everything that shaders/ exports. */
export async function loadShaders(): Promise<ShaderModules> {
  const folder = fileURLToPath(new URL('../../shaders', import.meta.url))
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -'.ts'.length))
  const modules = files.sort().map(async (file) => [file, await import(`../../shaders/${file}.ts`)] as const)
  return Object.fromEntries(await Promise.all(modules))
}
