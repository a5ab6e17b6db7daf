import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

/** A folder for the tests of one file, removed after them. Returns the path of a name in it. */
export function temporaryFolder(): (name: string) => string {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'centroidal-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return (name) => join(folder, name)
}
