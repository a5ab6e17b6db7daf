import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { createFile, openFile } from '../../src/platform/node-files.ts'
import { failure } from './failure.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const bytes = (text: string) => new TextEncoder().encode(text)

/** As a user without rights: root may read and write everything. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

async function beside(name: string): Promise<string[]> {
  const start = name.split('.')[0]
  return (await readdir(dirname(path(name)))).filter((found) => found.startsWith(start))
}

describe('openFile', () => {
  test('reads any part', async () => {
    await writeFile(path('r.txt'), 'abcdef')
    const file = await openFile(path('r.txt'))
    expect([file.name, file.size]).toEqual([path('r.txt'), 6])
    expect(await file.read(2, 4)).toEqual(bytes('cd'))
    expect(await file.read(0, 6)).toEqual(bytes('abcdef'))
    expect(await file.read(6, 6)).toEqual(bytes(''))
    expect(await failure(() => file.read(4, 9))).toBe(
      `bad-file: "${path('r.txt')}" ends at byte 6: bytes up to 9 were expected.`,
    )
    await truncate(path('r.txt'), 3)
    expect(await failure(() => file.read(0, 6))).toBe(
      `bad-file: "${path('r.txt')}" ends at byte 3: bytes up to 6 were expected.`,
    )
    await file.close()
    await file.close()
  })

  test('a missing file', async () => {
    expect(await failure(() => openFile('missing.npy'))).toBe(
      `bad-file: Cannot read "missing.npy": there is no such file (looked for "${process.cwd()}/missing.npy"); check the path.`,
    )
  })

  test('a folder', async () => {
    expect(await failure(() => openFile(dirname(path('x'))))).toBe(
      `bad-file: Cannot read "${dirname(path('x'))}": it is a folder; name a file in it.`,
    )
  })

  const notAFile = (name: string) =>
    `bad-file: ${JSON.stringify(name)} is a device, a pipe or a socket, which cannot be read in parts: save its contents to a file first.`

  test('a device', async () => {
    expect(await failure(() => openFile('/dev/null'))).toBe(notAFile('/dev/null'))
  })

  test('a pipe that nobody writes to is refused at once', async () => {
    execFileSync('mkfifo', [path('pipe.npy')])
    expect(await failure(() => openFile(path('pipe.npy')))).toBe(notAFile(path('pipe.npy')))
  }, 5000)

  test('a socket', async () => {
    const server = createServer()
    await new Promise<void>((ready) => server.listen(path('socket.npy'), ready))
    expect(await failure(() => openFile(path('socket.npy')))).toMatch(/socket\.npy": it is a socket/)
    server.close()
  })

  test.runIf(process.platform === 'linux')('a file of the system that has no size is read to its end', async () => {
    const file = await openFile('/proc/self/status')
    expect(file.size).toBeGreaterThan(100)
    expect(new TextDecoder().decode(await file.read(0, 5))).toBe('Name:')
    expect(await failure(() => file.read(0, file.size + 1))).toContain(`ends at byte ${file.size}: bytes up to`)
    await file.close()
  })

  test('an empty file', async () => {
    await writeFile(path('empty.npy'), '')
    const file = await openFile(path('empty.npy'))
    expect(file.size).toBe(0)
    await file.close()
  })

  test('a file in the place of a folder', async () => {
    await writeFile(path('plain'), '')
    expect(await failure(() => openFile(path('plain/x.npy')))).toContain(
      ': a part of the path is a file, not a folder; check the path.',
    )
  })

  test('a file without permission', async () => {
    await writeFile(path('secret'), '')
    await chmod(path('secret'), 0o000)
    expect(await asNobody(() => failure(() => openFile(path('secret'))))).toBe(
      `bad-file: Cannot read "${path('secret')}": permission denied; make the file readable for this user.`,
    )
  })

  test('a URL that is no file', async () => {
    expect(await failure(() => openFile(new URL('https://example.org/x.npy')))).toBe(
      'bad-file: "https://example.org/x.npy" is not a file on this machine: give a path or a file: URL.',
    )
  })
})

describe('createFile', () => {
  test('nothing is there before close, everything after', async () => {
    const sink = await createFile(path('w.txt'))
    await sink.write(bytes('abc'))
    await sink.write(bytes('def'))
    expect(await beside('w.txt')).not.toContain('w.txt')
    await sink.close()
    await sink.abort()
    expect(await readFile(path('w.txt'), 'utf8')).toBe('abcdef')
    expect(await beside('w.txt')).toEqual(['w.txt'])
  })

  test('abort leaves the old file and nothing else', async () => {
    await writeFile(path('old.txt'), 'old')
    const sink = await createFile(path('old.txt'))
    await sink.write(bytes('new'))
    await sink.abort()
    await sink.abort()
    expect(await beside('old.txt')).toEqual(['old.txt'])
    expect(await readFile(path('old.txt'), 'utf8')).toBe('old')
  })

  test('the mode of the old file is kept, and a link stays a link', async () => {
    await writeFile(path('real.txt'), 'old')
    await chmod(path('real.txt'), 0o640)
    await symlink(path('real.txt'), path('link.txt'))
    const sink = await createFile(path('link.txt'))
    await sink.write(bytes('new'))
    await sink.close()
    expect(await readFile(path('real.txt'), 'utf8')).toBe('new')
    expect((await stat(path('real.txt'))).mode & 0o777).toBe(0o640)
  })

  test('a device is written, not replaced', async () => {
    const sink = await createFile('/dev/null')
    await sink.write(bytes('x'))
    await sink.close()
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)
  })

  test('a pipe that no program reads from is refused instead of waited for', async () => {
    execFileSync('mkfifo', [path('out.fifo')])
    expect(await failure(() => createFile(path('out.fifo')))).toBe(
      `bad-file: Cannot write "${path('out.fifo')}": it is a pipe and no program reads from it; start the reader first, or name a file.`,
    )
    const reader = spawn('cat', [path('out.fifo')], { stdio: ['ignore', 'pipe', 'ignore'] })
    const read = reader.stdout.setEncoding('utf8').toArray()
    const sink = await vi.waitFor(() => createFile(path('out.fifo')), 5000)
    await sink.write(bytes('through the pipe'))
    await sink.close()
    expect((await read).join('')).toBe('through the pipe')
  })

  test('what a killed process left is removed by the next that writes the same file', async () => {
    const target = path('left.npy')
    const child = spawnSync(process.execPath, ['-e', '0'])
    const own = await createFile(target)
    const [living] = await beside('left.npy')
    expect(living).toContain(`-${process.pid}-`)
    const dead = living.replace(`-${process.pid}-`, `-${child.pid}-`)
    await writeFile(path(dead), 'half')
    await writeFile(path('left.npy.mine.partial'), 'not ours')
    const other = await createFile(target)
    expect(await beside('left.npy')).not.toContain(dead)
    expect(await beside('left.npy')).toContain(living)
    await own.abort()
    await other.close()
    expect(await beside('left.npy')).toEqual(['left.npy', 'left.npy.mine.partial'])
  })

  test('a folder that is not there', async () => {
    expect(await failure(() => createFile(path('no/where/x.npy')))).toBe(
      `bad-file: Cannot write "${path('no/where/x.npy')}": there is no folder "${path('no/where')}"; create it first.`,
    )
  })

  test('a folder in the place of the file', async () => {
    await mkdir(path('folder.npy'))
    expect(await failure(() => createFile(path('folder.npy')))).toBe(
      `bad-file: Cannot write "${path('folder.npy')}": it is a folder; add a file name, such as labels.npy.`,
    )
    const sink = await createFile(path('late.npy'))
    await mkdir(path('late.npy'))
    expect(await failure(() => sink.close())).toContain('it is a folder')
    expect(await beside('late.npy')).toEqual(['late.npy'])
  })

  test('a folder and a file without permission', async () => {
    await mkdir(path('locked'))
    await writeFile(path('locked/x.npy'), '')
    await chmod(path('locked/x.npy'), 0o444)
    await chmod(dirname(path('x')), 0o755)
    const sentence = (name: string) =>
      `bad-file: Cannot write "${path(name)}": permission denied; make the file and its folder writable for this user, or write elsewhere.`
    await chmod(path('locked'), 0o777)
    expect(await asNobody(() => failure(() => createFile(path('locked/x.npy'))))).toBe(sentence('locked/x.npy'))
    await chmod(path('locked'), 0o555)
    expect(await asNobody(() => failure(() => createFile(path('locked/y.npy'))))).toBe(sentence('locked/y.npy'))
    await chmod(path('locked'), 0o755)
  })

  test('a disk that is full', async () => {
    const sink = await createFile('/dev/full')
    expect(await failure(() => sink.write(bytes('x')))).toBe(
      'bad-file: Cannot write "/dev/full": the disk is full; free some space or write elsewhere.',
    )
    await sink.abort()
  })
})
