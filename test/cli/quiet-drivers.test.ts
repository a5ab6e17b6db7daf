/** What a driver writes to the descriptor of stderr goes nowhere; what is written before and after arrives. */
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
const onLinux = describe.runIf(process.platform === 'linux')

beforeAll(async () => {
  await build({
    entryPoints: ['src/cli/quiet-drivers.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: path('quiet.mjs'),
  })
  // A program that inherits the descriptor writes to it as a driver does.
  writeFileSync(
    path('noisy.mjs'),
    `import { spawnSync } from 'node:child_process'
     import { readdirSync } from 'node:fs'
     import { withQuietDrivers } from ${JSON.stringify(pathToFileURL(path('quiet.mjs')).href)}
     const noise = (word) => spawnSync('sh', ['-c', 'echo ' + word + ' >&2'], { stdio: ['ignore', 'ignore', 'inherit'] })
     const count = () => readdirSync('/proc/self/fd').length
     process.stderr.write('begin\\n')
     noise('before')
     const open = count()
     const fail = withQuietDrivers(async () => { noise('driver'); throw new Error('no device') })
     const message = await fail.catch((error) => error.message)
     const value = await withQuietDrivers(async () => { noise('driver'); return 7 })
     if (count() !== open || message !== 'no device' || value !== 7) process.exit(3)
     noise('after')
     process.stderr.write('end\\n')`,
  )
})

const EXPECTED = 'begin\nbefore\nafter\nend\n'

onLinux('the descriptor', () => {
  test('of a file', () => {
    writeFileSync(path('log'), 'old\n')
    const log = openSync(path('log'), 'a')
    const { status } = spawnSync(process.execPath, [path('noisy.mjs')], { stdio: ['ignore', 'ignore', log] })
    closeSync(log)
    expect(status).toBe(0)
    expect(readFileSync(path('log'), 'utf8')).toBe(`old\n${EXPECTED}`)
  })

  test('of a pipe', () => {
    const command = `"${process.execPath}" "${path('noisy.mjs')}" 2>&1 >/dev/null | cat`
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout).toBe(EXPECTED)
  })

  test('of a socket, which cannot be opened again, stays as it is', () => {
    // Node connects its children by sockets.
    const { status, stderr } = spawnSync(process.execPath, [path('noisy.mjs')], { encoding: 'utf8' })
    expect(status).toBe(0)
    expect(stderr).toBe('begin\nbefore\ndriver\ndriver\nafter\nend\n')
  })

  test.runIf(existsSync('/usr/bin/script'))('of a terminal', () => {
    const command = `"${process.execPath}" "${path('noisy.mjs')}"`
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' })
    expect(stdout.replaceAll('\r', '')).toBe(EXPECTED)
  })
})
