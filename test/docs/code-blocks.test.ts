/** Every code block of the documents does what it says: programs are compiled and run, commands are run. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documents, moduleOf, ROOT, sectionsOf } from './markdown.ts'
import { PRELUDES, prepareFiles } from './prepared-files.ts'

/** Generated, and compared with the sources by reference.test.ts: it lists declarations and runs nothing. */
const REPORT = 'docs/api-report.md'
/** Commands that are looked at and not run, and why. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^npm ci && npm (?:run )?(?<script>[\w:-]+)$/, 'installs this checkout anew, and the tests would run themselves'],
  [/^npm install .+$/, 'needs the network'],
  [/^npm run (?<script>[\w:-]+)(?: .*)?$/, 'works on this checkout: for minutes, or until somebody stops it'],
  [/^(?:npx )?centroidal (?:worker |.* --on ).*$/, 'needs a store; test/distributed runs such commands'],
  [/^npx centroidal serve .*$/, 'runs until it is stopped; test/cli/ivf.test.ts starts one'],
  [/^curl localhost.*$/, 'needs that server'],
  [/^node (?<file>scripts\/\S+\.mjs)\b.*$/, 'works on this checkout, and other tests run it'],
]

const sections = documents()
  .filter((path) => path !== REPORT)
  .flatMap(sectionsOf)
  .map((section, i) => ({ ...section, folder: `section-${i}` }))
const having = (language: string) =>
  sections.filter(({ blocks }) => blocks.some((block) => block.language === language))
const programs = having('ts')
const scripts = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts as Record<string, string>
const environment = { ...process.env, CENTROIDAL_NO_GPU: '1', NO_COLOR: '1' }

let home = ''

beforeAll(async () => {
  for (const file of ['dist/index.js', 'dist/cli.js', 'dist/types/src/index.d.ts']) {
    if (!existsSync(join(ROOT, file))) throw new Error(`${file} is missing: node scripts/build.mjs makes it`)
  }
  home = await mkdtemp(join(tmpdir(), 'centroidal-docs-'))
  mkdirSync(join(home, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(ROOT, join(home, 'node_modules', 'centroidal'))
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(home, 'node_modules', '@types'))
  writeFileSync(
    join(home, 'node_modules', '.bin', 'centroidal'),
    `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/dist/cli.js" "$@"\n`,
    { mode: 0o755 },
  )
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  for (const section of sections) {
    const folder = join(home, section.folder)
    mkdirSync(folder)
    await prepareFiles(folder, section.blocks.map(({ code }) => code).join('\n'))
    if (!programs.includes(section)) continue
    const code = moduleOf(section, PRELUDES[section.name])
    writeFileSync(join(folder, 'example.ts'), code)
    const plain = transformSync(code, { loader: 'ts', target: 'es2022' }).code
    writeFileSync(join(folder, 'example.js'), plain)
    writeFileSync(join(folder, 'example.cjs'), commonModule(plain))
  }
})

afterAll(() => rm(home, { recursive: true, force: true }))

test('every block is of a kind that can be checked', () => {
  for (const { name, blocks } of sections) {
    // What is "typescript" in the reference is a declaration, and compared with the sources; pages are opened in
    // Chromium by test/structure/pages.test.ts.
    const kinds = name.startsWith('docs/api.md') ? ['ts', 'typescript'] : ['ts', 'sh', 'html']
    // A manifest, and files of other programs: not run here.
    if (name.startsWith('docs/cluster.md')) kinds.push('json', 'yaml', 'text')
    // Run by python.test.ts, where Python has NumPy.
    if (name.startsWith('docs/python.md')) kinds.push('python')
    for (const { language, line } of blocks) expect(kinds, `${name}, line ${line}`).toContain(language)
  }
})

test('all programs compile, strictly', () => {
  writeFileSync(
    join(home, 'expect.d.ts'),
    'declare function expectValue(actual: unknown, expected: unknown, place: string): void',
  )
  const flags = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
    '--lib',
    'es2023,dom',
  ]
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const files = programs.map(({ folder }) => `${folder}/example.ts`)
  const { stdout, status } = spawnSync(process.execPath, [tsc, ...flags, 'expect.d.ts', ...files], {
    cwd: home,
    encoding: 'utf8',
  })
  const named = stdout.replace(/^(section-\d+)\/example\.ts/gm, (path, folder) => {
    return sections.find((section) => section.folder === folder)?.name ?? path
  })
  expect(named).toBe('')
  expect(status).toBe(0)
}, 240_000)

/** As somebody writes it who has no modules: what is imported is required, and what is awaited stands in a function. */
function commonModule(code: string): string {
  const lines = code
    .replaceAll(/^import (\{[^}]*\}|\* as \w+) from ("[^"]*");$/gm, (_, names: string, from: string) => {
      return `const ${names.replace('* as ', '').replaceAll(' as ', ': ')} = require(${from});`
    })
    .replace(/^export \{\};?$/m, '')
  if (/^(im|ex)port /m.test(lines)) throw new Error(`This module is not translated to CommonJS:\n${code}`)
  return `module.exports = (async () => {\n${lines}\n})()\n`
}

/**
 * What examples run in. Others than this Node are named by CENTROIDAL_RUNTIMES, a JSON list of commands such as
 * [["deno", "run", "-A"]]: scripts/check-package.mjs installs Bun and Deno for it.
 */
const RUNTIMES: readonly { readonly kind: string; readonly command: readonly string[]; readonly file: string }[] = [
  { kind: 'Node, as modules', command: [process.execPath], file: 'example.js' },
  { kind: 'Node, in CommonJS', command: [process.execPath], file: 'example.cjs' },
  ...(JSON.parse(process.env.CENTROIDAL_RUNTIMES ?? '[]') as string[][]).map((command) => ({
    kind: command.join(' '),
    command,
    file: 'example.js',
  })),
]

describe.each(RUNTIMES)('programs in $kind', ({ kind, command: [program, ...prefix], file: example }) => {
  const results = new Map<string, { error?: string; seconds: number }>()

  beforeAll(() => {
    const file = join(home, `results-${RUNTIMES.findIndex((runtime) => runtime.kind === kind)}.jsonl`)
    const runner = join(ROOT, 'test', 'docs', 'example-runner.mjs')
    const modules = programs.map(({ folder }) => join(home, folder, example))
    const ended = spawnSync(program, [...prefix, runner, file, ...modules], {
      env: environment,
      encoding: 'utf8',
      timeout: 230_000,
    })
    if (!existsSync(file)) throw new Error(`No example ran: ${ended.stderr}`)
    for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
      const { module, ...result } = JSON.parse(line)
      results.set(module, result)
    }
  }, 240_000)

  test.each(programs)('$name runs', ({ folder }) => {
    const result = results.get(join(home, folder, example))
    expect(result, 'the process ended before its turn').toBeDefined()
    expect(result?.error).toBeUndefined()
  })
})

describe('commands', () => {
  const run = promisify(execFile)

  test.each(having('sh'))(
    '$name',
    async ({ blocks, folder }) => {
      const path = `${join(home, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
      const shells = blocks.filter(({ language }) => language === 'sh')
      const lines = shells.flatMap(({ code }) => code.replaceAll('\\\n', ' ').split('\n'))
      for (const line of lines.filter((text) => text.trim() !== '' && !text.startsWith('#'))) {
        const known = NOT_RUN.some(([pattern]) => pattern.test(line))
        // What takes as long as it is told to takes a second.
        const command = known
          ? undefined
          : /^(?:npx )?(centroidal .*)$/.exec(line)?.[1].replace(/--seconds \d+/, '--seconds 1')
        if (command === undefined) expectKnown(line)
        else await run('sh', ['-c', command], { cwd: join(home, folder), env: { ...environment, PATH: path } })
      }
    },
    120_000,
  )
})

function expectKnown(line: string): void {
  const groups = NOT_RUN.map(([pattern]) => pattern.exec(line)).find((match) => match !== null)
  if (!groups) throw new Error(`"${line}" is neither a command of this package nor among those that are not run`)
  const { script, file } = groups.groups ?? {}
  if (script) expect(scripts).toHaveProperty(script)
  if (file) expect(existsSync(join(ROOT, file)), file).toBe(true)
}
