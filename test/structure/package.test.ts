/** The package as others get it: packed, installed in an empty folder, used as library, as types and as a command. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
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
