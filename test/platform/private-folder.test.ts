import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { digestOf, privateFolder } from '../../src/platform/private-folder.ts'

const FILES = [
  { name: 'libgood.so', bytes: new TextEncoder().encode('good') },
  { name: 'deep/er/data.json', bytes: new TextEncoder().encode('{}') },
]
const DIGEST = digestOf(FILES)
const unpack = vi.fn(() => FILES)
const find = (): string => privateFolder('lib', DIGEST, unpack)
const isRoot = process.geteuid?.() === 0

let home = ''
let cache = ''

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'centroidal-private-'))
  cache = join(home, 'cache')
  vi.stubEnv('XDG_CACHE_HOME', cache)
  vi.stubEnv('TMPDIR', join(home, 'tmp'))
  mkdirSync(join(home, 'tmp'))
  unpack.mockClear()
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

function expectGood(folder: string): void {
  expect(readFileSync(join(folder, 'libgood.so'), 'utf8')).toBe('good')
  expect(readFileSync(join(folder, 'deep/er/data.json'), 'utf8')).toBe('{}')
}

test('files are unpacked once, for this user alone', () => {
  const folder = find()
  expectGood(folder)
  expect(folder.startsWith(join(cache, 'centroidal'))).toBe(true)
  expect(find()).toBe(folder)
  expect(unpack).toHaveBeenCalledTimes(1)
  for (const path of [cache, join(cache, 'centroidal'), folder, join(folder, 'deep'), join(folder, 'libgood.so')]) {
    expect(statSync(path).mode & 0o777, path).toBe(0o700)
  }
  expect(readdirSync(join(cache, 'centroidal'))).toHaveLength(1)
})

describe('a folder that is there and not as it was unpacked is not used', () => {
  const evil = 'evil'
  const changes: Record<string, (folder: string) => void> = {
    'other contents': (folder) => writeFileSync(join(folder, 'libgood.so'), evil),
    'another file': (folder) => writeFileSync(join(folder, 'libother.so'), evil, { mode: 0o700 }),
    'a missing file': (folder) => rmSync(join(folder, 'deep/er/data.json')),
    'a file that others can write': (folder) => chmodSync(join(folder, 'libgood.so'), 0o722),
    'a folder that others can write': (folder) => chmodSync(folder, 0o777),
    'an inner folder that its group can write': (folder) => chmodSync(join(folder, 'deep'), 0o770),
    'a link to a file with the same contents': (folder) => {
      renameSync(join(folder, 'libgood.so'), join(home, 'libgood.so'))
      symlinkSync(join(home, 'libgood.so'), join(folder, 'libgood.so'))
    },
    'a link to a folder with the same contents': (folder) => {
      renameSync(folder, join(home, 'moved'))
      symlinkSync(join(home, 'moved'), folder)
    },
    ...(isRoot && {
      'a file of another user': (folder: string) => chownSync(join(folder, 'libgood.so'), 65534, 65534),
      'a folder of another user': (folder: string) => chownSync(folder, 65534, 65534),
    }),
  }

  test.each(Object.keys(changes))('%s', (change) => {
    const before = find()
    changes[change](before)
    const after = find()
    expect(after).not.toBe(before)
    expectGood(after)
    expect(find()).toBe(after)
    expect(unpack).toHaveBeenCalledTimes(2)
  })
})

describe('a cache that others could change is not used', () => {
  const places: Record<string, () => void> = {
    'others can write to it': () => {
      mkdirSync(join(cache, 'centroidal'), { recursive: true })
      chmodSync(join(cache, 'centroidal'), 0o777)
    },
    'others can replace it': () => {
      mkdirSync(cache)
      chmodSync(cache, 0o777)
    },
    'it is a link': () => {
      mkdirSync(cache)
      mkdirSync(join(home, 'elsewhere'), { mode: 0o700 })
      symlinkSync(join(home, 'elsewhere'), join(cache, 'centroidal'))
    },
    'it is a file': () => writeFileSync(cache, ''),
    ...(isRoot && {
      'it belongs to another user': () => {
        mkdirSync(join(cache, 'centroidal'), { recursive: true })
        chownSync(join(cache, 'centroidal'), 65534, 65534)
      },
      'the folder above belongs to another user': () => {
        mkdirSync(cache)
        chownSync(cache, 65534, 65534)
      },
    }),
  }

  test.each(Object.keys(places))('%s', (place) => {
    places[place]()
    const once = vi.spyOn(process, 'once')
    const folder = find()
    expect(folder.startsWith(join(home, 'tmp'))).toBe(true)
    expectGood(folder)
    expect(lstatSync(folder).mode & 0o777).toBe(0o700)
    const onExit = once.mock.calls.find(([event]) => event === 'exit')?.[1] as () => void
    onExit()
    expect(existsSync(folder)).toBe(false)
    once.mockRestore()
  })
})

test('with no safe folder at all it says so, and leaves nothing', () => {
  writeFileSync(cache, '')
  chmodSync(join(home, 'tmp'), 0o777)
  expect(find).toThrow(/cache folder: .*temporary folder: other users can replace .*set XDG_CACHE_HOME/)
  expect(readdirSync(join(home, 'tmp'))).toEqual([])
  vi.stubEnv('TMPDIR', join(home, 'missing'))
  expect(find).toThrow(/temporary folder: .*set XDG_CACHE_HOME/)
})

test('an archive with other files than expected is refused', () => {
  expect(() => privateFolder('lib', DIGEST, () => FILES.slice(1))).toThrow(/files in the archive have the digest/)
  const outside = [{ name: '../../evil', bytes: new Uint8Array(1) }]
  expect(() => privateFolder('lib', digestOf(outside), () => outside)).toThrow(/outside its own folder/)
  expect(readdirSync(join(cache, 'centroidal'))).toEqual([])
})

test('many processes at once all get the files', async () => {
  const script = join(home, 'find.mjs')
  const source = join(import.meta.dirname, '../../src/platform/private-folder.ts')
  await build({
    stdin: {
      contents: `import { privateFolder } from ${JSON.stringify(source)}
        const files = ${JSON.stringify(FILES.map(({ name, bytes }) => [name, [...bytes]]))}
        await new Promise((go) => process.stdin.once('data', go))
        console.log(privateFolder('lib', '${DIGEST}', () => files.map(([name, bytes]) => ({ name, bytes: Uint8Array.from(bytes) }))))
        process.exit()`,
      resolveDir: home,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: script,
  })
  const children = Array.from({ length: 4 }, () => spawn(process.execPath, [script]))
  const ended = children.map(
    (child) =>
      new Promise<string>((resolve) => {
        let out = ''
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (out += text))
        child.on('close', () => resolve(out.trim()))
      }),
  )
  await new Promise((ready) => setTimeout(ready, 300))
  for (const child of children) child.stdin.end('go')
  const folders = new Set(await Promise.all(ended))
  expect([...folders]).toEqual([find()])
  expect(readdirSync(join(cache, 'centroidal'))).toHaveLength(1)
  expect(unpack).not.toHaveBeenCalled()
})
