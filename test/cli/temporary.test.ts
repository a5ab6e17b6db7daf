import { spawnSync } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryBeside } from '../../src/cli/temporary.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()

test('leftovers of processes that are gone are removed, and nothing else', async () => {
  const own = await temporaryBeside(path('codes.npy'))
  await writeFile(own, '')
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  const dead = own.replace(`-${process.pid}-`, `-${pid}-`)
  await writeFile(dead, '')
  await writeFile(path(`.${basename(dead)}.partial`), '')
  await mkdir(`${dead}-folder/inner`, { recursive: true })
  await writeFile(path('.centroidal-notes'), 'of a user')
  const next = await temporaryBeside(path('codes.npy'))
  expect(next).not.toBe(own)
  expect((await readdir(path(''))).sort()).toEqual([basename(own), '.centroidal-notes'].sort())
})
