/** Standard output that cannot be written, and option values without bounds. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Writable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { Session } from '../../src/cli/session.ts'
import { confusionOf } from '../../src/cli/truth.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { CLI } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
beforeAll(() => writeBlobs(path('vectors.npy'), path('classes.npy')))

describe('standard output', () => {
  /** What is left of a command whose output fails with this error. */
  async function withBroken(which: 'stdout' | 'stderr', code: string, ...args: string[]): Promise<[number, string]> {
    let told = ''
    const broken = new Writable({ write: (_, __, done) => done(Object.assign(new Error(code), { code })) })
    const kept = new Writable({
      write(chunk, _, done) {
        told += chunk
        done()
      },
    })
    const streams = which === 'stdout' ? { stdout: broken, stderr: kept } : { stdout: kept, stderr: broken }
    const status = await runCommandLine(args, new Session(args, streams as unknown as NodeJS.Process))
    return [status, told]
  }
  const evaluate = (): string[] => ['evaluate', path('classes.npy'), '--truth', path('classes.npy')]

  test('on a full disk: one sentence and exit code 2', async () => {
    const sentence = 'Cannot write to standard output: the disk is full; free some space.\n'
    expect(await withBroken('stdout', 'ENOSPC', ...evaluate())).toEqual([2, sentence])
    expect(await withBroken('stdout', 'ENOSPC', '--help')).toEqual([2, sentence])
  })

  test('a reader that stops early is no failure', async () => {
    expect(await withBroken('stdout', 'EPIPE', ...evaluate())).toEqual([0, ''])
  })

  test('standard error that is lost changes nothing', async () => {
    const [status, told] = await withBroken('stderr', 'ENOSPC', ...evaluate())
    expect(status).toBe(0)
    expect(told).toContain('NMI 1.000')
    expect(await withBroken('stderr', 'ENOSPC', 'nonsense')).toEqual([2, ''])
  })

  test.runIf(existsSync('/dev/full'))('the program itself on /dev/full', async () => {
    const command = `"${process.execPath}" "${CLI}" --version > /dev/full`
    const [status, told] = await new Promise<[unknown, string]>((resolve) =>
      execFile('/bin/sh', ['-c', command], (error, _, stderr) => resolve([error?.code, stderr])),
    )
    expect(told).toMatch(/^Cannot write to standard output: the disk is full; free some space\.\n$/)
    expect(status).toBe(2)
  })
})

describe('bad input', () => {
  test.each([
    [
      'restarts that take years',
      ['cluster', 'V', '-k', '3', '--restarts', '1e9'],
      /the largest value is 100000; give a/,
    ],
    ['more rounds than numbers hold', ['cluster', 'V', '-k', '3', '--iterations', '1e18'], /the largest value is 9007/],
    ['a time that timers do not hold', ['bench', 'V', '--seconds', '1e9'], /the largest value is 1000000; give a/],
    ['help for no command', ['help', 'nonsense'], /^Unknown command: centroidal --help lists the commands/],
    ['a report over a folder', ['report', 'V', '--out', '.'], /./],
  ])('%s', async (_, args, sentence) => {
    const given = args.map((arg) => (arg === 'V' ? path('vectors.npy') : arg))
    const { code, stdout, stderr } = await runInside(...given)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toMatch(sentence)
  })

  test('a table of more clusters and classes than memory holds is left out', () => {
    const labels = Uint32Array.from({ length: 5000 }, (_, i) => i)
    expect(confusionOf(labels, labels, 5000)).toBeUndefined()
    expect(confusionOf(labels.subarray(0, 3), labels.subarray(0, 3), 3)?.counts).toHaveLength(9)
  })

  test('search writes nothing if one of its files cannot be written', async () => {
    const quantize = ['quantize', path('vectors.npy'), '-m', '2', '--codewords', '4', '--iterations', '1', '-q']
    expect((await runInside(...quantize, '--out', path('quantizer'))).code).toBe(0)
    await runInside('encode', path('quantizer'), path('vectors.npy'), '-q', '--out', path('codes.npy'))
    const search = ['search', path('quantizer'), path('codes.npy'), path('vectors.npy'), '--out', path('found.npy')]
    for (const flag of [
      ['--distances', path('distances')],
      ['--report', path('quantizer')],
    ]) {
      const { code, stderr } = await runInside(...search, ...flag)
      expect(code, stderr).toBe(2)
      expect(existsSync(path('found.npy'))).toBe(false)
    }
  })
})
