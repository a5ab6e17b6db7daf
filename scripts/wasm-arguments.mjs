/**
 * Writes what AssemblyScript knows of the declarations in src/kernels: a class for the arguments of each function, shared
 * constants, and the list of functions that the CPU device can run.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** The entry for the AssemblyScript compiler, relative to the root. */
export const ASSEMBLY_ENTRY = 'wasm/build/assembly/index.ts'

export async function writeArguments(root) {
  const { functions, constants } = await readDeclarations(root)
  const folder = join(root, 'wasm/build/assembly')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'constants.ts'), constants.map(constantText).join('\n'))
  await writeFile(join(folder, 'arguments.ts'), argumentsText(functions))
  await writeFile(join(folder, 'index.ts'), await indexText(root, functions))
}

/** Everything that the modules of src/kernels export and that is a declaration. */
async function readDeclarations(root) {
  const files = (await readdir(join(root, 'src/kernels'))).filter((name) => name.endsWith('.ts')).sort()
  const outfile = join(root, 'wasm/build/declarations.mjs')
  await build({
    stdin: {
      contents: files.map((name, i) => `export * as module${i} from './src/kernels/${name}'`).join('\n'),
      resolveDir: root,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    logLevel: 'warning',
    outfile,
  })
  const modules = await import(`${pathToFileURL(outfile).href}?${Date.now()}`)
  const exported = Object.values(modules).flatMap((module) => Object.values(module))
  const unique = [...new Set(exported)].filter((value) => typeof value === 'object' && value !== null)
  return {
    functions: [
      ...new Set(
        unique
          .map((value) => value.declaredFunction ?? value)
          .filter((value) => 'entry' in value && 'fields' in value && 'job' in value),
      ),
    ],
    constants: unique.filter((value) => 'declared' in value).flatMap(({ declared }) => Object.entries(declared)),
  }
}

function constantText([name, { type, value }]) {
  const text = type === 'u32' || /[.e]/.test(`${value}`) ? `${value}` : `${value}.0`
  return `export const ${name}: ${type} = ${text}\n`
}

/** `Rows` needs constants itself, which are therefore in a file of their own. */
function argumentsText(functions) {
  const head = "import { Rows } from '../../rows'\n\nexport * from './constants'\n"
  return [head, ...functions.map(classText)].join('\n')
}

/** AssemblyScript lays the fields of a class out as the packing does: in order, each at a multiple of its size. */
function classText({ entry, fields, vectors }) {
  const name = `${entry[0].toUpperCase()}${entry.slice(1)}Args`
  const lines = fields.map(({ name, type, about }) => `  ${name}: ${type}${about ? ` // ${about}` : ''}`)
  for (const { name, offset } of vectors) {
    lines.push(`  @inline get ${name}(): Rows { return changetype<Rows>(changetype<usize>(this) + ${offset}) }`)
  }
  return `/** Arguments of ${entry}. */\n@unmanaged\nexport class ${name} {\n${lines.join('\n')}\n}\n`
}

/** A declared function is exported by one file of wasm/, whichever that is. */
async function indexText(root, functions) {
  const owners = new Map()
  for (const file of (await readdir(join(root, 'wasm'))).filter((name) => name.endsWith('.ts') && name !== 'host.ts')) {
    const text = await readFile(join(root, 'wasm', file), 'utf8')
    for (const [, name] of text.matchAll(/^export function (\w+)/gm)) owners.set(name, file.replace(/\.ts$/, ''))
  }
  const lines = functions.map(({ entry }) => {
    const owner = owners.get(entry)
    if (owner === undefined) throw new Error(`No file in wasm/ exports the declared function ${entry}`)
    return `export { ${entry} } from '../../${owner}'\n`
  })
  return `${lines.join('')}export * from '../../host'\n`
}
