/** Opening a GPU in surroundings that are hostile or bare: `centroidal info` in a process of its own. */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { CLI } from '../cli/run-cli.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { NO_SYSTEM_DRIVERS } from '../driver-variables.ts'

const path = temporaryFolder()

function info(env: Record<string, string | undefined>, options: { cwd?: string; cli?: string; flags?: string[] } = {}) {
  const { CENTROIDAL_NO_GPU: _, ...rest } = process.env
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...(options.flags ?? []), options.cli ?? CLI, 'info', '--json'],
    {
      // Drivers of the system would be taken first, and complain on stderr.
      env: { ...rest, ...NO_SYSTEM_DRIVERS, ...env },
      cwd: options.cwd ?? path('.'),
      encoding: 'utf8',
    },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const lines = stdout.trim().split('\n')
  return lines.map((line) => JSON.parse(line)) as Record<string, unknown>[]
}

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'a library planted in the folder where earlier versions unpacked is not loaded',
  () => {
    const planted = path(`planted/centroidal-swiftshader-147-${process.geteuid?.()}`)
    mkdirSync(planted, { recursive: true })
    for (const name of ['libvulkan.so.1', 'libvk_swiftshader.so', 'vk_swiftshader_icd.json']) {
      writeFileSync(`${planted}/${name}`, 'planted')
    }
    const [gpu] = info({ TMPDIR: path('planted'), XDG_CACHE_HOME: path('cache') })
    expect(gpu).toMatchObject({ kind: 'webgpu', available: true })
    expect(existsSync(path('cache/centroidal'))).toBe(true)
  },
)

test('the packages of the current folder are not looked at', () => {
  // Installed without the software driver, and run in a project that has something by its name.
  const modules = join(dirname(CLI), '../node_modules')
  mkdirSync(path('installed/node_modules'), { recursive: true })
  for (const name of readdirSync(modules).filter((name) => !name.startsWith('.') && name !== '@sparticuz')) {
    symlinkSync(join(modules, name), path(`installed/node_modules/${name}`))
  }
  writeFileSync(path('installed/package.json'), '{ "type": "module" }')
  for (const name of ['cli.js', 'index.js']) {
    mkdirSync(path('installed/dist'), { recursive: true })
    copyFileSync(join(dirname(CLI), name), path(`installed/dist/${name}`))
  }
  const chromium = path('project/node_modules/@sparticuz/chromium')
  mkdirSync(`${chromium}/bin`, { recursive: true })
  writeFileSync(path('project/package.json'), '{}')
  writeFileSync(`${chromium}/package.json`, '{ "name": "@sparticuz/chromium", "version": "147.0.0", "main": "i.js" }')
  writeFileSync(`${chromium}/i.js`, '')
  writeFileSync(`${chromium}/bin/swiftshader.tar.br`, brotliCompressSync(new Uint8Array(1024)))
  const [gpu] = info({ XDG_CACHE_HOME: path('cache') }, { cwd: path('project'), cli: path('installed/dist/cli.js') })
  if (gpu.available) expect(gpu.name).not.toMatch(/SwiftShader from/)
  else expect(gpu.whyNot).toMatch(/the software driver is not installed|no software driver/)
})

test('a user id without a passwd entry and no folder to write to: there is no GPU, and a reason', () => {
  // As os does where the user is unknown. A real such user could not read this folder everywhere.
  writeFileSync(
    path('unknown-user.mjs'),
    `import os from 'node:os'
     import { syncBuiltinESMExports } from 'node:module'
     os.homedir = os.userInfo = () => { throw new Error('uv_os_homedir returned ENOENT') }
     syncBuiltinESMExports()`,
  )
  const flags = ['--import', path('unknown-user.mjs')]
  const [gpu, cpu] = info({ HOME: undefined, XDG_CACHE_HOME: undefined, TMPDIR: '/proc' }, { flags })
  expect(cpu).toMatchObject({ kind: 'cpu', available: true })
  if (gpu.available) expect(gpu.name).not.toMatch(/SwiftShader from/)
  else expect(gpu.whyNot).toMatch(/the software driver could not be unpacked.*set XDG_CACHE_HOME|no software driver/)
  mkdirSync(path('tmp'))
  chmodSync(path('tmp'), 0o700)
  const [again] = info({ HOME: undefined, XDG_CACHE_HOME: undefined, TMPDIR: path('tmp') }, { flags })
  expect(again.available || /no software driver/.test(String(again.whyNot))).toBe(true)
  expect(readdirSync(path('tmp'))).toEqual([])
})
