import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { disk } from '../../src/platform/disk.ts'
import { createScratch } from '../../src/platform/scratch.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
afterEach(() => void vi.restoreAllMocks())

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

test('what was written anywhere is read again, and no file is to be seen meanwhile', async () => {
  const scratch = await createScratch(path(''))
  expect(await readdir(path(''))).toEqual([])
  await scratch.write(bytes(1, 2, 3), 1_000_000)
  await scratch.write(bytes(4, 5), 2)
  await scratch.write(bytes(6), 1_000_001)
  const read = new Uint8Array(3)
  await scratch.read(read, 1_000_000)
  expect([...read]).toEqual([1, 6, 3])
  await scratch.read(read.subarray(0, 2), 2)
  expect([...read]).toEqual([4, 5, 3])
  await expect(scratch.read(read, 1_000_001)).rejects.toThrow(/Cannot read .*ends at byte 1000003/)
  await scratch.close()
  await scratch.close()
})

/** Names of files that cannot be removed while they are open, as on some file systems. */
async function visibleName(): Promise<{ name: string; close(): Promise<void> }> {
  const refusing = vi.spyOn(disk, 'unlink').mockRejectedValue(new Error('busy'))
  const scratch = await createScratch(path(''))
  refusing.mockRestore()
  const [name] = await readdir(path(''))
  return { name, close: () => scratch.close() }
}

test('a file that cannot be removed while it is open is removed when it is closed', async () => {
  const { name, close } = await visibleName()
  expect(name).toMatch(/^\.centroidal-.*\.scratch$/)
  await close()
  expect(await readdir(path(''))).toEqual([])
})

test('files of processes that are gone are removed by the next one, and nothing else', async () => {
  const { name, close } = await visibleName()
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  await writeFile(path(name.replace(`-${process.pid}-`, `-${pid}-`)), 'left behind')
  const ofOtherMachine = `.centroidal-00000000-${pid}-0123456789ab.scratch`
  await writeFile(path(ofOtherMachine), '')
  await writeFile(path('notes.scratch'), 'of a user')
  const next = await createScratch(path(''))
  expect((await readdir(path(''))).sort()).toEqual([name, ofOtherMachine, 'notes.scratch'].sort())
  await next.close()
  await close()
})

test('a folder that is not there is named', async () => {
  const missing = path('missing')
  await expect(createScratch(missing)).rejects.toMatchObject({
    code: 'bad-file',
    message: expect.stringContaining(basename(missing)),
  })
})
