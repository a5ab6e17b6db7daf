/**
 * Compiles wasm/ four times (with and without relaxed SIMD, with and without shared memory) and
 * writes the results as text into a module each, so that no bundler has to know about .wasm files.
 *
 * A fifth build is for tests alone and goes to a module of its own, which nothing in src imports: it has
 * assertions, and checks every access to memory (wasm/checked.ts).
 *
 * Nothing is compiled where neither the sources nor the flags changed since the last time.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'
import { ASSEMBLY_ENTRY, writeArguments } from './wasm-arguments.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const threads = ['--enable', 'threads', '--sharedMemory']
const relaxed = ['--enable', 'relaxed-simd']
const variants = {
  relaxedShared: [...relaxed, ...threads],
  relaxedSingle: relaxed,
  simdShared: threads,
  simdSingle: [],
}
const common = ['--runtime', 'stub', '--enable', 'simd', '--enable', 'bulk-memory']
const memory = ['--importMemory', '--initialMemory', '16', '--maximumMemory', '65536', '--exportStart', 'start']

/** The functions of wasm/checked.ts in the place of what they check. */
const checked = [
  [/\batomic\.load(?=<)/g, 'checkedAtomicLoad'],
  [/\batomic\.store(?=<)/g, 'checkedAtomicStore'],
  [/\batomic\.wait(?=<)/g, 'checkedWait'],
  [/\bload(?=<)/g, 'checkedLoad'],
  [/\bstore(?=<)/g, 'checkedStore'],
  [/\bv128\.load(?=\()/g, 'checkedVector'],
  [/\bv128\.store(?=\()/g, 'checkedVectorStore'],
  [/\bv128\.load32_splat(?=\()/g, 'checkedSplat'],
  [/\bv128\.load32_zero(?=\()/g, 'checkedZero32'],
  [/\bv128\.load64_zero(?=\()/g, 'checkedZero64'],
  [/\bv128\.load8x8_u(?=\()/g, 'checkedWiden'],
  [/\bmemory\.copy(?=\()/g, 'checkedCopy'],
  [/\bmemory\.fill(?=\()/g, 'checkedFill'],
]
/** An access that is left would go unchecked. */
const unchecked = /\b(v128\.(load|store)|memory\.(copy|fill)|atomic\.)\w*/

async function readChecked(name, baseDir) {
  let text
  try {
    text = await readFile(`${baseDir}/${name}`, 'utf8')
  } catch {
    return null
  }
  // What the host calls is not checked.
  if (!/^wasm\/[^/]+$/.test(name) || ['wasm/checked.ts', 'wasm/host.ts'].includes(name)) return text
  for (const [pattern, replacement] of checked) text = text.replace(pattern, replacement)
  const left = unchecked.exec(text)
  if (left) throw new Error(`${name}: ${left[0]} has no checked form in wasm/checked.ts`)
  const names = [...new Set(checked.map(([, replacement]) => replacement))]
  return `${text}\nimport { ${names.join(', ')} } from './checked'\n`
}

async function compile(name, flags, options = {}) {
  const out = `wasm/build/${name}.wasm`
  const { error, stderr } = await asc.main(
    [ASSEMBLY_ENTRY, '--baseDir', root, '--outFile', out, ...common, ...memory, ...flags],
    { stdout: process.stdout, ...options },
  )
  if (error) {
    process.stderr.write(stderr.toString())
    throw error
  }
  return (await readFile(`${root}/${out}`)).toString('base64')
}

async function write(name, text) {
  await writeFile(`${root}/wasm/build/${name}.js`, `export const ${name} =\n  '${text}'\n`)
  await writeFile(`${root}/wasm/build/${name}.d.ts`, `export declare const ${name}: string\n`)
}

/** Of all that the compiler gets, and of what it made. */
async function digestOfBuild() {
  const hash = createHash('sha256').update(asc.version)
  const sources = (await readdir(`${root}/wasm`, { recursive: true })).filter((name) => name.endsWith('.ts')).sort()
  const files = [...sources.map((name) => `wasm/${name}`), 'scripts/build-wasm.mjs', 'scripts/wasm-arguments.mjs']
  const built = [...Object.keys(variants), 'checked'].map((name) => `wasm/build/${name}.js`)
  for (const name of [...files, ...built]) {
    hash.update(name).update(await readFile(`${root}/${name}`).catch(() => ''))
  }
  return hash.digest('hex')
}

async function build() {
  for (const [name, flags] of Object.entries(variants)) {
    await write(name, await compile(name, ['-O3', '--noAssert', ...flags]))
  }
  await write('checked', await compile('checked', ['-O2', ...relaxed, ...threads], { readFile: readChecked }))
}

await mkdir(`${root}/wasm/build`, { recursive: true })
await writeArguments(root)
const stamp = `${root}/wasm/build/digest.txt`
if ((await readFile(stamp, 'utf8').catch(() => '')) !== (await digestOfBuild())) {
  await build()
  await writeFile(stamp, await digestOfBuild())
}
