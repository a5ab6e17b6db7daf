/** What a machine can check of ARCHITECTURE.md: who may import whom, what may stand where, how long files are. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Rooms from the bottom up: a room imports only from itself and from rooms before it. */
const ROOMS = [
  'core',
  'platform',
  'math',
  'metrics',
  'data',
  'device',
  'kernels',
  'vectors',
  'trees',
  'models',
  'clustering',
  'quantize',
  'search',
  'retrieval',
  'distributed',
]
const SHARED = ['core', 'platform', 'math', 'metrics', 'data', 'device', 'kernels', 'vectors', 'trees', 'models']
/** Rooms with a shorter list than that. */
const ONLY: Record<string, readonly string[]> = {
  core: [],
  platform: ['core'],
  math: ['core'],
  metrics: ['core'],
  data: ['core', 'platform'],
  quantize: SHARED,
  search: [...SHARED, 'quantize'],
  retrieval: [...SHARED, 'search'],
}

interface SourceFile {
  readonly path: string
  readonly text: string
  readonly lines: number
  /** Relative to the root, without anything from npm or Node. */
  readonly imports: readonly string[]
}

function sources(folder: string): SourceFile[] {
  const found: SourceFile[] = []
  for (const name of readdirSync(join(ROOT, folder))) {
    const path = join(folder, name)
    if (['node_modules', 'build', 'results'].includes(name)) continue
    if (statSync(join(ROOT, path)).isDirectory()) found.push(...sources(path))
    else if (/\.(ts|mjs)$/.test(name)) found.push(readSource(path))
  }
  return found
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const imports = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)]
    .map((match) => match[1])
    .filter((target) => target.startsWith('.') || target === '#platform')
    .map((target) =>
      target === '#platform' ? 'src/platform/node.ts' : relative(ROOT, resolve(ROOT, dirname(path), target)),
    )
  return { path, text, lines: text.split('\n').length, imports }
}

function pagesOf(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.html')).map((name) => join(folder, name))
}

const roomOf = (path: string): string => path.split('/')[1]
const inSrc = sources('src')
const library = inSrc.filter(({ path }) => path !== 'src/index.ts' && roomOf(path) !== 'cli')

describe('rooms', () => {
  test.each(library)('$path imports only what lies below it', ({ path, imports }) => {
    const room = roomOf(path)
    expect(ROOMS).toContain(room)
    const allowed = new Set([room, ...(ONLY[room] ?? ROOMS.slice(0, ROOMS.indexOf(room)))])
    for (const target of imports) {
      if (target.startsWith('shaders/')) expect(['kernels', 'clustering']).toContain(room)
      else if (target.startsWith('wasm/')) expect(path.startsWith('src/device/cpu/')).toBe(true)
      else if (target === 'package.json') expect(path).toBe('src/distributed/version.ts')
      else expect(allowed, `${path} imports ${target}`).toContain(roomOf(target))
    }
  })

  test.each([...sources('src/cli'), ...sources('demos'), ...sources('bench'), ...sources('fuzz')])(
    '$path uses the library by its door',
    ({ path, imports }) => {
      const own = path.startsWith('src/cli/') ? 'src/cli/' : `${path.split('/')[0]}/`
      for (const target of imports) {
        expect(
          ['src/index.ts', 'package.json'].includes(target) || target.startsWith(own),
          `${path} imports ${target}`,
        ).toBe(true)
      }
    },
  )

  test.each(pagesOf('demos'))('%s loads what is in demos alone', (path) => {
    const html = readFileSync(join(ROOT, path), 'utf8')
    for (const [, target] of html.matchAll(/(?:src|href)="([^"#]+)"/g)) {
      expect(relative(ROOT, resolve(ROOT, dirname(path), target)), `${path} loads ${target}`).toMatch(/^demos\//)
    }
  })

  test.each(sources('shaders'))(
    '$path knows only types of the library, and how to declare shaders',
    ({ path, text }) => {
      for (const [line, file] of text.matchAll(/^import .*\.\.\/src\/(.*)'$/gm)) {
        if (!['device/declared-shader.ts', 'device/fields.ts'].includes(file))
          expect(line, path).toMatch(/^import type /)
      }
    },
  )
})

describe('what stands where', () => {
  test.each(library)('$path', ({ path, text }) => {
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
    const namesGpu = /\bGPU[A-Z]\w+|navigator\.gpu/.test(code)
    expect(namesGpu && !/^src\/(device\/webgpu|platform)\//.test(path), 'only device/webgpu names a GPU object').toBe(
      false,
    )
    expect(/\bconsole\.|process\.std(out|err)/.test(code), 'only the command line prints').toBe(false)
    expect(/^(export )?(let|var) /m.test(code), 'no mutable state of a module').toBe(false)
    expect(/createBuffer\(/.test(code) && !path.startsWith('src/device/webgpu/')).toBe(false)
  })

  const everything = [...inSrc, ...['shaders', 'wasm', 'test', 'bench', 'demos', 'fuzz', 'scripts'].flatMap(sources)]
  test.each(everything)('$path is short and well named', ({ path, lines }) => {
    expect(lines).toBeLessThanOrEqual(360)
    expect(path).not.toMatch(/util|helper|misc/i)
  })

  test('every kernel has the same name in every room', () => {
    const stems = (folder: string): Set<string> =>
      new Set(readdirSync(join(ROOT, folder)).map((name) => name.replace(/(\.test)?\.ts$/, '')))
    const kernels = [
      'accumulate',
      'apply-moves',
      'accumulate-sparse',
      'accumulate-soft',
      'assign',
      'assign-groups',
      'assign-leaves',
      'assign-lists',
      'assign-sparse',
      'code-sums',
      'distances',
      'encode',
      'exact-sums',
      'expand',
      'matmul',
      'means',
      'move-gains',
      'moves-sparse',
      'partition-tree',
      'project',
      'respond',
      'scan-codes',
      'search-tree',
      'shares',
      'tally',
    ]
    for (const folder of ['shaders', 'wasm', 'src/kernels', 'test/kernels']) {
      for (const kernel of kernels) expect(stems(folder), folder).toContain(kernel)
    }
  })

  test('no path or address of a machine', () => {
    const strangers =
      /\/(root|home|work)\/|https?:\/\/(?!(localhost|127\.0\.0\.1|www\.w3\.org|doi\.org|arxiv\.org))\S*registry/
    for (const { path, text } of everything) {
      if (path !== 'test/structure/rooms.test.ts') expect(strangers.test(text), path).toBe(false)
    }
  })
})
