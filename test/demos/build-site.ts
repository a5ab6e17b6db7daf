/** Builds the site once for all tests of the demos, as it is published; vitest.config.ts names this file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the built site. */
    site: string
  }
}

let folder: string | undefined

export async function setup(project: TestProject): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'centroidal-demos-'))
  await build({
    configFile: join(import.meta.dirname, '../../demos/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: folder, reportCompressedSize: false },
  })
  project.provide('site', folder)
}

export async function teardown(): Promise<void> {
  if (folder) await rm(folder, { recursive: true, force: true })
}
