/** What a machine can check of ARCHITECTURE.md: who may import whom, what may stand where, how long files are. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { declaredIn } from '../../scripts/gpu-stats/kernels.ts'
import { loadShaders } from '../../scripts/gpu-stats/load-shaders.ts'

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

/** One line for each violation, so that a failing test lists all of them. */
function violations<T extends { readonly path: string }>(
  files: readonly T[],
  rule: (file: T) => readonly (string | false)[],
): string[] {
  expect(files.length).toBeGreaterThan(0)
  return files.flatMap((file) =>
    rule(file)
      .filter((text) => text !== false)
      .map((text) => `${file.path}: ${text}`),
  )
}

describe('rooms', () => {
  test('every file is in a room of the list', () => {
    expect(library.map(({ path }) => roomOf(path)).filter((room) => !ROOMS.includes(room))).toEqual([])
  })

  test('files import only from rooms above theirs', () => {
    const wrong = violations(library, ({ path, imports }) => {
      const room = roomOf(path)
      const rooms = [room, ...(ONLY[room] ?? ROOMS.slice(0, ROOMS.indexOf(room)))]
      const allowed = (target: string): boolean => {
        if (target.startsWith('shaders/')) return ['kernels', 'clustering'].includes(room)
        if (target.startsWith('wasm/')) return path.startsWith('src/device/cpu/')
        if (target === 'package.json') return path === 'src/distributed/version.ts'
        return rooms.includes(roomOf(target))
      }
      return imports.map((target) => !allowed(target) && `imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  test('command line, demos, benchmarks and fuzzing use the library by src/index.ts alone', () => {
    const outside = ['src/cli', 'demos', 'bench', 'fuzz'].flatMap(sources)
    const wrong = violations(outside, ({ path, imports }) => {
      const own = path.startsWith('src/cli/') ? 'src/cli/' : `${path.split('/')[0]}/`
      const allowed = (target: string): boolean =>
        ['src/index.ts', 'package.json'].includes(target) ||
        target.startsWith(own) ||
        // The measuring page is the benchmark of all kernels.
        (path.startsWith('demos/measure/') && target.startsWith('bench/gpu/'))
      return imports.map((target) => !allowed(target) && `imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  test('pages load only what is in demos', () => {
    const pages = pagesOf('demos').map((path) => ({ path, html: readFileSync(join(ROOT, path), 'utf8') }))
    const wrong = violations(pages, ({ path, html }) =>
      [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, target]) => {
        const loaded = relative(ROOT, resolve(ROOT, dirname(path), target))
        return !loaded.startsWith('demos/') && `loads ${target}`
      }),
    )
    expect(wrong).toEqual([])
  })

  test('shaders import only types of the library', () => {
    const wrong = violations(sources('shaders'), ({ text }) =>
      [...text.matchAll(/^import .*\.\.\/src\/(.*)'$/gm)].map(([line]) => !line.startsWith('import type ') && line),
    )
    expect(wrong).toEqual([])
  })

  test('property tests take fast-check with the seed of the run', () => {
    const direct = ['test/properties.ts', 'test/distributed/values.test.ts']
    const tests = sources('test').filter(({ path }) => !direct.includes(path))
    const wrong = violations(tests, ({ text }) => [/^import .* from 'fast-check'/m.test(text) && 'imports fast-check'])
    expect(wrong).toEqual([])
  })
})

describe('what stands where', () => {
  test('GPU objects, printing and state of modules', () => {
    const wrong = violations(library, ({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
      const mayNameGpu = /^src\/(device\/webgpu|platform)\//.test(path)
      const mayAllocate = path.startsWith('src/device/webgpu/')
      return [
        /\bGPU[A-Z]\w+|navigator\.gpu/.test(code) && !mayNameGpu && 'only device/webgpu names a GPU object',
        /\bconsole\.|process\.std(out|err)/.test(code) && 'only the command line prints',
        /^(export )?(let|var) /m.test(code) && 'no mutable state of a module',
        /createBuffer\(/.test(code) && !mayAllocate && 'only device/webgpu makes GPU buffers',
      ]
    })
    expect(wrong).toEqual([])
  })

  const everything = [...inSrc, ...['shaders', 'wasm', 'test', 'bench', 'demos', 'fuzz', 'scripts'].flatMap(sources)]
  test('files are short and well named', () => {
    const wrong = violations(everything, ({ path, lines }) => [
      lines > 360 && `${lines} lines`,
      /util|helper|misc/i.test(path) && 'says nothing by its name',
    ])
    expect(wrong).toEqual([])
  })

  test('every kernel has the same name in every room', async () => {
    const modules = Object.entries(await loadShaders())
    const kernels = modules.flatMap(([file, exports]) => declaredIn(exports).filter(({ name }) => name === file))
    expect(kernels.length).toBeGreaterThan(20)
    // Some kernels are tested through others that run them.
    const users = ['test/kernels', 'src/kernels'].flatMap(sources).map(({ text }) => text)
    const missing = kernels.flatMap(({ name, shaders, declaredFunction }) => [
      ...(shaders.length > 0 ? [`shaders/${name}.ts`] : []),
      ...(declaredFunction ? [`wasm/${name}.ts`] : []),
      ...(users.some((text) => text.includes(`/${name}.ts'`)) ? [] : [`test/kernels/${name}.test.ts`]),
    ])
    expect(missing.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('no path or address of a machine', () => {
    const strangers =
      /\/(root|home|work)\/|https?:\/\/(?!(localhost|127\.0\.0\.1|www\.w3\.org|doi\.org|arxiv\.org))\S*registry/
    const others = everything.filter(({ path }) => path !== 'test/structure/rooms.test.ts')
    expect(violations(others, ({ text }) => [strangers.exec(text)?.[0] ?? false])).toEqual([])
  })
})
