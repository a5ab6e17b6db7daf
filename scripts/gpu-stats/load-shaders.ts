import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ShaderModules } from './kernels.ts'

/** Everything that the files of src/kernels export, by the name of the file. */
export async function loadShaders(): Promise<ShaderModules> {
  const modules: Record<string, Record<string, unknown>> = {}
  for (const file of filesOf('../../src/kernels')) modules[file] = { ...(await import(`../../src/kernels/${file}.ts`)) }
  return modules
}

function filesOf(folder: string): string[] {
  return readdirSync(fileURLToPath(new URL(folder, import.meta.url)))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -'.ts'.length))
    .sort()
}
