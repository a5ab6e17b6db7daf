/**
 * The packed package in other runtimes and compilers than the Node of this checkout, as far as npm has them: Bun, Deno,
 * Next.js, Electron and an old TypeScript. Part of check-package.mjs.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const QUIET = ['--no-audit', '--no-fund']

/** Programs as users write them; what they print is EXPECTED. */
export const EXPECTED = '100, 100, 100'
const BODY = `const { vectors } = blobs({ rows: 300, cols: 2, clusters: 3, separated: true })`
export const MODULE = `import { blobs, cluster } from 'centroidal'
${BODY}
const model = await cluster(vectors, { k: 3 })
`
export const MODULE_PRINTS = `${MODULE}console.log(model.sizes.join(', '))`
export const COMMON_PRINTS = `const { blobs, cluster } = require('centroidal')
${BODY}
cluster(vectors, { k: 3 }).then((model) => console.log(model.sizes.join(', ')))`
/** Large enough for threads, in several of which the library starts scripts of its own. */
export const ONE_LINER = `import { blobs, cluster } from 'centroidal'
const { vectors } = blobs({ rows: 60000, cols: 32, clusters: 300 })
console.log((await cluster(vectors, { k: 300 })).sizes.length)`

const execute = (file, args, cwd, env = {}) =>
  execFileSync(file, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  }).trim()

/** What a check returns that cannot be made here. */
export class Skipped {
  constructor(reason) {
    this.reason = reason
  }
}

/** A folder with the packed package and others installed. */
function project(folder, name, packed, packages, options = []) {
  const home = join(folder, name)
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "private": true }')
  execute('npm', ['install', ...QUIET, ...options, packed, ...packages], home)
  writeFileSync(join(home, 'use.mjs'), MODULE_PRINTS)
  writeFileSync(join(home, 'use.cjs'), COMMON_PRINTS)
  return home
}

function expectSame(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual}`)
}

/**
 * The same programs under Bun and Deno, and all examples of the documents. `report` prints what a check returns, or why it
 * failed.
 */
export async function checkBunAndDeno(folder, packed, report, root) {
  const runtimes = []
  for (const [name, prefix] of [
    ['bun', []],
    ['deno', ['run', '--allow-all']],
  ]) {
    await report(name, () => {
      const home = project(folder, name, packed, [name])
      const program = join(home, 'node_modules', '.bin', name)
      for (const file of ['use.mjs', 'use.cjs']) expectSame(execute(program, [...prefix, file], home), EXPECTED)
      runtimes.push([program, ...prefix])
      return execute(program, ['--version'], home).split('\n')[0]
    })
  }
  await report('examples of the documents', () => {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const args = ['run', '--project', 'node', 'test/docs/code-blocks.test.ts', '-t', 'programs']
    execute(process.execPath, [vitest, ...args], root, { CENTROIDAL_RUNTIMES: JSON.stringify(runtimes) })
    return `${runtimes.length} runtimes besides Node`
  })
}

/** A page that clusters on the server and one that clusters in the browser, built by Turbopack. */
export async function checkNext(folder, packed, report, shown) {
  await report('Next.js', async () => {
    const packages = ['next', 'react', 'react-dom', 'webgpu']
    const home = project(folder, 'next', packed, packages, ['--no-package-lock'])
    mkdirSync(join(home, 'app', 'client'), { recursive: true })
    const library = `import { blobs, cluster } from 'centroidal'`
    writeFileSync(
      join(home, 'app', 'layout.js'),
      'export default function Layout({ children }) { return <html><body>{children}</body></html> }',
    )
    writeFileSync(
      join(home, 'app', 'page.js'),
      `${library}
      export const dynamic = 'force-dynamic'
      export default async function Page() {
        ${BODY}
        const model = await cluster(vectors, { k: 3 })
        return <p id="sizes">{model.sizes.join(', ')}</p>
      }`,
    )
    writeFileSync(
      join(home, 'app', 'client', 'page.js'),
      `'use client'
      import { useEffect, useState } from 'react'
      ${library}
      export default function Page() {
        const [sizes, show] = useState('')
        useEffect(() => {
          ${BODY}
          cluster(vectors, { k: 3 }).then((model) => show(model.sizes.join(', ')))
        }, [])
        return <p id="sizes">{sizes}</p>
      }`,
    )
    const next = join(home, 'node_modules', 'next', 'dist', 'bin', 'next')
    const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
    execute(process.execPath, [next, 'build'], home, env)
    const port = await freePort()
    const server = spawn(process.execPath, [next, 'start', '-p', String(port)], {
      cwd: home,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    })
    try {
      const address = `http://localhost:${port}`
      await answering(address)
      await shown(`${address}/`)
      await shown(`${address}/client`)
    } finally {
      server.kill()
    }
    return JSON.parse(readFileSync(join(home, 'node_modules', 'next', 'package.json'), 'utf8')).version
  })
}

/** npm has a script that downloads Electron from elsewhere. Where that fails, the check is skipped, and says so. */
export async function checkElectron(folder, packed, report) {
  await report('Electron', () => {
    const home = project(folder, 'electron', packed, ['electron'], ['--ignore-scripts'])
    const electron = join(home, 'node_modules', 'electron')
    try {
      execute(process.execPath, [join(electron, 'install.js')], home)
    } catch (error) {
      const reason = String(error.stderr || error.message)
        .split('\n')
        .find((line) => /error/i.test(line))
      return new Skipped(`its binary could not be downloaded (${reason})`)
    }
    const binary = execute(process.execPath, ['-p', `require('electron')`], home)
    // As Node, so that no display is needed: the engine and its limits are those of the main process.
    const env = { ELECTRON_RUN_AS_NODE: '1' }
    for (const file of ['use.mjs', 'use.cjs']) expectSame(execute(binary, [file], home, env), EXPECTED)
    return execute(binary, ['-p', 'process.versions.electron'], home, env)
  })
}

/** The types, by the oldest TypeScript that docs/publishing.md names, in every way packages are resolved. */
export async function checkTypes(folder, packed, report, root) {
  const text = readFileSync(join(root, 'docs', 'publishing.md'), 'utf8')
  const [, oldest] = /TypeScript ([\d.]+) or later/.exec(text) ?? []
  await report(`TypeScript ${oldest}`, () => {
    const home = project(folder, 'types', packed, [`typescript@${oldest}`, '@types/node@20'])
    writeFileSync(
      join(home, 'use.mts'),
      `${MODULE}const centers: Float32Array = model.centers.data
      // @ts-expect-error an option of another method
      await cluster(vectors, { k: 3, method: 'lloyd', trees: 3 })
      export { centers }`,
    )
    writeFileSync(
      join(home, 'use.ts'),
      `import { blobs, cluster } from 'centroidal'
      ${BODY}
      export const model = cluster(vectors, { k: 3 }).then((found) => found.centers.data.fill(0))`,
    )
    const tsc = join(home, 'node_modules', 'typescript', 'bin', 'tsc')
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
    const common = [...strict, '--target', 'es2022', '--types', 'node', '--lib', 'es2023,dom']
    for (const [file, module, resolution] of [
      ['use.mts', 'nodenext', 'nodenext'],
      ['use.mts', 'esnext', 'bundler'],
      ['use.ts', 'commonjs', 'node10'],
    ]) {
      try {
        execute(process.execPath, [tsc, ...common, '--module', module, '--moduleResolution', resolution, file], home)
      } catch (error) {
        throw new Error(`${resolution}: ${error.stdout.split('\n').slice(0, 3).join('\n')}`)
      }
    }
    return 'nodenext, bundler, node10'
  })
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function answering(address) {
  const end = Date.now() + 60_000
  for (;;) {
    const answer = await fetch(address).catch(() => undefined)
    if (answer?.ok) return
    if (Date.now() > end) throw new Error(`${address} does not answer`)
    await new Promise((done) => setTimeout(done, 200))
  }
}
