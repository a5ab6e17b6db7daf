/** The package as others get it: packed, installed in an empty folder, used as library, as types and as a command. */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'centroidal-pack-'))
const installed = join(folder, 'node_modules', 'centroidal')
const run = (file: string, args: string[], cwd: string): string =>
  execFileSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const sources = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/**
 * Unpacks the tarball where npm would, with the dependencies of this checkout: the same files as an
 * install, without asking a registry.
 */
beforeAll(() => {
  const packed = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT))
  const { filename } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
  mkdirSync(installed, { recursive: true })
  run('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', installed], folder)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.') && name !== 'centroidal') {
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    }
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
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
    ]) {
      expect(files).toContain(`./${needed}`)
    }
    expect(files.filter((file) => /\.(test|bench)\.|\/(test|demos|bench|wasm\/build)\//.test(file))).toEqual([])
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)
    // Two bundles, each with the four builds of the kernels.
    expect(bytes).toBeLessThan(1_900_000)
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

  test('has types that a strict program compiles with', () => {
    writeFileSync(
      join(folder, 'use.ts'),
      `import { cluster, type ClusterModel } from 'centroidal'
       export const model: ClusterModel = await cluster([[1, 2], [3, 4]], { k: 2 })
       // @ts-expect-error a method that does not exist
       await cluster([[1]], { k: 1, method: 'magic' })`,
    )
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    expect(() => run(process.execPath, [tsc, ...flags, 'use.ts'], folder)).not.toThrow()
  })

  test('the bundle for pages imports nothing', () => {
    const text = readFileSync(join(installed, 'dist', 'browser.js'), 'utf8')
    expect(text).not.toMatch(/\bfrom\s*["'](?!\.)|\bimport\(["'](?!\.)|["']node:/)
  })
})
