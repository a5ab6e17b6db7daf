/**
 * Compiles wasm/ four times (with and without relaxed SIMD, with and without shared memory) and
 * writes the results as text into one module, so that no bundler has to know about .wasm files.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const root = fileURLToPath(new URL('..', import.meta.url))
const variants = {
  relaxedShared: ['--enable', 'relaxed-simd', '--enable', 'threads', '--sharedMemory'],
  relaxedSingle: ['--enable', 'relaxed-simd'],
  simdShared: ['--enable', 'threads', '--sharedMemory'],
  simdSingle: [],
}
const common = ['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--enable', 'bulk-memory']
const memory = ['--importMemory', '--initialMemory', '16', '--maximumMemory', '65536', '--exportStart', 'start']

await mkdir(`${root}/wasm/build`, { recursive: true })
let code = ''
let types = ''
for (const [name, flags] of Object.entries(variants)) {
  const out = `wasm/build/${name}.wasm`
  const { error, stderr } = await asc.main(
    ['wasm/index.ts', '--baseDir', root, '--outFile', out, ...common, ...memory, ...flags],
    { stdout: process.stdout },
  )
  if (error) {
    process.stderr.write(stderr.toString())
    throw error
  }
  const bytes = await readFile(`${root}/${out}`)
  code += `export const ${name} =\n  '${bytes.toString('base64')}'\n`
  types += `export declare const ${name}: string\n`
}
await writeFile(`${root}/wasm/build/modules.js`, code)
await writeFile(`${root}/wasm/build/modules.d.ts`, types)
