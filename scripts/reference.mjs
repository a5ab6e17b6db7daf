/**
 * The public door, written down from the types and comments of src/index.ts: docs/api.md for readers, and
 * docs/api-report.md, which shows what a change does to the surface others build on. With --check nothing is
 * written; it fails, and says why, where a file is not what it would be.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { ApiModel } from '@microsoft/api-extractor-model'
import { renderReference } from './reference-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const check = process.argv.includes('--check')
const folder = mkdtempSync(join(tmpdir(), 'centroidal-reference-'))
const problems = []

try {
  emitTypes()
  extract()
  // Where a warning stands changes with every comment above it.
  const report = readFileSync(join(folder, 'report.api.md'), 'utf8').replace(/(\.d\.ts):\d+:\d+ /g, '$1 ')
  const model = new ApiModel()
  const page = renderReference(model.loadPackage(join(folder, 'model.json')), problems)
  settle('docs/api-report.md', report)
  settle('docs/api.md', page)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0

/** Into a folder of our own: dist may be older than the sources, or be packed at this moment. */
function emitTypes() {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  const args = [tsc, '-p', join(root, 'tsconfig.types.json'), '--outDir', join(folder, 'types')]
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}

function extract() {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node', '@webgpu/types'],
    strict: true,
    skipLibCheck: true,
  }
  const silent = { logLevel: ExtractorLogLevel.None }
  const config = ExtractorConfig.prepare({
    configObjectFullPath: join(folder, 'api-extractor.json'),
    packageJsonFullPath: join(folder, 'package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, 'types/src/index.d.ts'),
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions } },
      apiReport: {
        enabled: true,
        reportFolder: folder,
        reportTempFolder: join(folder, 'new'),
        reportFileName: 'report',
      },
      docModel: { enabled: true, apiJsonFilePath: join(folder, 'model.json') },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Error },
          // Everything at the door is public unless it says that it is not.
          'ae-missing-release-tag': silent,
          'ae-internal-missing-underscore': silent,
          // Types of internal members: listed in the report, so that a new one is noticed.
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: true },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      },
    },
  })
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback(message) {
      message.handled = true
      if (message.logLevel !== ExtractorLogLevel.Error) return
      const place = message.sourceFilePath ? `${message.sourceFilePath.replace(/.*\/types\//, '')}: ` : ''
      problems.push(`${place}${message.text}`)
    },
  })
}

function settle(path, text) {
  const full = join(root, path)
  if (!check) return writeFileSync(full, text)
  let current = ''
  try {
    current = readFileSync(full, 'utf8')
  } catch {}
  if (current === text) return
  const before = current.split('\n')
  const line = text.split('\n').findIndex((expected, i) => expected !== before[i])
  problems.push(
    `${path} is not what the sources say, from line ${line + 1} on ("${text.split('\n')[line]}"): run node scripts/reference.mjs, and look at what changed.`,
  )
}
