/** The package as others get it: packed, installed in an empty folder, used as library, as types and as a command. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checked } from '../../wasm/build/checked.js'
import { type Installed, installPackage, ROOT, run } from './installed-package.ts'

const sources = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

let project: Installed
let folder = ''
let installed = ''

beforeAll(() => {
  project = installPackage()
  folder = project.folder
  installed = project.package
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the packed package', () => {
  test('holds what it needs and little else', () => {
    const files = run('find', ['.', '-type', 'f'], installed).trim().split('\n')
    for (const needed of [
      'dist/index.js',
      'dist/browser.js',
      'dist/cli.js',
      'dist/types/src/index.d.ts',
      'README.md',
      'LICENSE',
      'SECURITY.md',
    ]) {
      expect(files).toContain(`./${needed}`)
    }
    expect(files.filter((file) => /\.(test|bench)\.|\/(test|demos|bench|fuzz|wasm\/build)\//.test(file))).toEqual([])
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)
    expect(bytes).toBe(project.unpackedBytes)
  })

  test('leaves out the build of the kernels that is for tests', () => {
    // From the middle: modules may end with the same tables.
    const kernels = checked.slice(checked.length / 2, checked.length / 2 + 200)
    for (const file of ['dist/index.js', 'dist/browser.js', 'dist/cli.js']) {
      expect(readFileSync(join(installed, file), 'utf8').includes(kernels), file).toBe(false)
    }
  })

  test('is about as large as docs/publishing.md says', () => {
    const text = readFileSync(join(ROOT, 'docs/publishing.md'), 'utf8')
    const [, packed, unpacked] = /(\d+) kB packed and ([\d.]+) MB unpacked/.exec(text) ?? []
    for (const [stated, bytes] of [
      [Number(packed) * 1e3, project.packedBytes],
      [Number(unpacked) * 1e6, project.unpackedBytes],
    ]) {
      expect(Math.abs(bytes / stated - 1), `${stated} is stated, and it is ${bytes}`).toBeLessThan(0.1)
    }
  })

  test('has all that package.json points to', () => {
    const { types, browser, default: main } = sources.exports['.']
    for (const file of [types, browser, main, sources.bin.centroidal]) {
      expect(statSync(join(installed, file)).size, file).toBeGreaterThan(0)
    }
    expect(sources.type).toBe('module')
    // npm makes it executable; the first line says by what.
    expect(readFileSync(join(installed, sources.bin.centroidal), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  })

  test('adds at most 10 packages and 15 MB, as docs/publishing.md says', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    const paths = Object.keys(packages).filter((path) => path !== '' && !packages[path].dev)
    const bytesOf = (path: string): number =>
      run('find', [path, '-type', 'f', '-printf', '%s\n'], ROOT)
        .trim()
        .split('\n')
        .reduce((sum, size) => sum + Number(size), 0)
    const bytes = paths.reduce((sum, path) => sum + bytesOf(path), project.unpackedBytes)
    expect(paths.length + 1).toBeLessThanOrEqual(10)
    expect(bytes).toBeLessThan(15e6)
    const text = readFileSync(join(ROOT, 'docs/publishing.md'), 'utf8')
    const [, count, megabytes] = /adds (\d+) packages with ([\d.]+) MB/.exec(text) ?? []
    expect(Number(count)).toBe(paths.length + 1)
    expect(Math.abs(bytes / (Number(megabytes) * 1e6) - 1), `${bytes} bytes`).toBeLessThan(0.1)
  })

  test('works without its optional packages, and names the one that is missing', () => {
    // What a user has who installs nothing else: the packages above, in a folder of their own.
    const alone = mkdtempSync(join(tmpdir(), 'centroidal-alone-'))
    const modules = join(alone, 'node_modules')
    mkdirSync(modules, { recursive: true })
    cpSync(installed, join(modules, 'centroidal'), { recursive: true })
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    for (const path of Object.keys(packages)) {
      if (path === '' || packages[path].dev) continue
      cpSync(join(ROOT, path), join(alone, path), { recursive: true })
    }
    const program = `const { vectors } = blobs({ rows: 30, cols: 2, clusters: 3, separated: true })
      cluster(vectors, { k: 3 }).then(async (model) => {
        console.log(model.sizes.join(' '))
        await openDevice({ kind: 'webgpu' }).catch((error) => console.log(error.message))
      })`
    writeFileSync(join(alone, 'package.json'), '{ "type": "commonjs" }')
    writeFileSync(join(alone, 'use.cjs'), `const { blobs, cluster, openDevice } = require('centroidal')\n${program}`)
    writeFileSync(join(alone, 'use.mjs'), `import { blobs, cluster, openDevice } from 'centroidal'\n${program}`)
    writeFileSync(join(alone, 'points.csv'), 'x,y\n0,0\n0,1\n9,9\n')
    const told = 'WebGPU in Node needs the package webgpu, which is not installed (npm install webgpu)'
    const env = { ...process.env, CENTROIDAL_NO_GPU: '' }
    for (const file of ['use.cjs', 'use.mjs']) {
      const out = execFileSync(process.execPath, [file], { cwd: alone, encoding: 'utf8', env })
      expect(out, file).toMatch(/^10 10 10\n/)
      expect(out, file).toContain(told)
    }
    const cli = [join(modules, 'centroidal/dist/cli.js'), 'cluster', 'points.csv', '-k', '2', '--json']
    expect(run(process.execPath, cli, alone)).toContain('"type":"result"')
    expect(readFileSync(join(installed, 'dist/THIRD-PARTY.txt'), 'utf8')).toMatch(/^commander .* \(MIT\)$/m)
    rmSync(alone, { recursive: true })
  }, 60_000)

  test('asks only for packages that its files import', () => {
    const names = Object.keys(sources.dependencies)
    const text = ['index.js', 'cli.js'].map((name) => readFileSync(join(installed, 'dist', name), 'utf8')).join()
    // The preprocessor is bundled: pages need it too, and it has no entry point of its own.
    for (const name of names.filter((name) => name !== 'wgsl-preprocessor'))
      expect(text).toMatch(new RegExp(`["']${name}["']`))
  })

  test('works as a library', () => {
    writeFileSync(
      join(folder, 'use.js'),
      `import { cluster, blobs, adjustedRandIndex } from 'centroidal'
       const { vectors, labels } = blobs({ rows: 300, cols: 8, clusters: 3, spread: 0.1, seed: 1, separated: true })
       const model = await cluster(vectors, { k: 3, seed: 1, device: 'cpu' })
       console.log(adjustedRandIndex(model.labels, labels).toFixed(3))`,
    )
    expect(run(process.execPath, ['use.js'], folder).trim()).toBe('1.000')
  })

  test('works as a command', () => {
    const out = run(process.execPath, [join(installed, sources.bin.centroidal), '--version'], folder)
    expect(out.trim()).toBe(sources.version)
    expect(run('npm', ['exec', '--offline', '--', 'centroidal', '--help'], installed)).toContain('cluster')
  })

  describe.each([
    { kind: 'Node', flags: ['--module', 'nodenext', '--types', 'node', '--lib', 'es2023'] },
    {
      kind: 'a bundler',
      flags: ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '', '--lib', 'es2023,dom'],
    },
  ])('types for $kind', ({ flags }) => {
    test('compile in a strict program, and refuse what is wrong', () => {
      writeFileSync(
        join(folder, 'use.ts'),
        `import { cluster, type ClusterModel, type VectorInput } from 'centroidal'
         const vectors: VectorInput = [[1, 2], [3, 4]]
         export const model: ClusterModel = await cluster(vectors, { k: 2 })
         export const rows: number = model.centers.rows
         // @ts-expect-error a method that does not exist
         await cluster([[1]], { k: 1, method: 'magic' })
         // @ts-expect-error a result that is not there
         model.nothing`,
      )
      const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
      const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
      expect(() => run(process.execPath, [tsc, ...strict, ...flags, 'use.ts'], folder)).not.toThrow()
    })
  })

  test('the bundle for pages imports nothing', () => {
    const text = readFileSync(join(installed, 'dist', 'browser.js'), 'utf8')
    expect(text).not.toMatch(/\bfrom\s*["'](?!\.)|\bimport\(["'](?!\.)|["']node:/)
  })
})
