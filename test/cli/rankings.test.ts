import { lstat, readdir, stat, symlink } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { claimRankings } from '../../src/cli/rankings.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const inFolder = temporaryFolder()

test('rankings written to a device leave the device in place', async () => {
  // A link, so that a mistake here cannot harm the real device.
  const path = inFolder('nowhere')
  await symlink('/dev/null', path)
  const file = await claimRankings(path)
  await file.write([{ query: 0, images: Uint32Array.of(1), scores: Float64Array.of(0.5) }])
  await file.release()
  expect((await lstat(path)).isSymbolicLink()).toBe(true)
  expect((await stat(path)).isCharacterDevice()).toBe(true)
  expect(await readdir(inFolder(''))).toEqual(['nowhere'])
})
