/** The folder of --out when several processes use it, and links in it. */
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { OutFolder } from '../../src/cli/out-folder.ts'
import { replaceFile } from '../../src/cli/replace-file.ts'
import { blobs, loadModel, readSavedText, writeVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { runCli } from './run-cli.ts'

const path = temporaryFolder()
beforeAll(() => writeVectors(path('vectors.npy'), blobs({ rows: 300, cols: 4, clusters: 4 }).vectors))

test('two runs with the same --out end with the files of one of them', async () => {
  const run = (seed: string) =>
    runCli(
      'cluster',
      path('vectors.npy'),
      '-k',
      '6',
      '--seed',
      seed,
      '--title',
      `run ${seed}`,
      '--out',
      path('run'),
      '-q',
    )
  const ended = await Promise.all([run('1'), run('2')])
  expect(ended).toEqual([1, 2].map(() => ({ code: 0, stdout: '', stderr: '' })))
  const { facts } = await loadModel(path('run'))
  expect([1, 2]).toContain(facts.seed)
  expect(JSON.parse((await readSavedText(path('run'), 'run.json')) ?? '').title).toBe(`run ${facts.seed}`)
  expect(await readSavedText(path('run'), 'report.html')).toContain(`<title>run ${facts.seed}</title>`)
  const files = ['centers.npy', 'labels.npy', 'model.json', 'report.html', 'run.json']
  expect(readdirSync(path('run')).sort()).toEqual(files)
})

test('trying a folder never removes one that another process makes meanwhile', async () => {
  const folder = path('tried/inner')
  for (let i = 0; i < 60; i++) {
    const made = new Promise((resolve) => setTimeout(resolve, i / 20)).then(() => mkdir(folder, { recursive: true }))
    await Promise.all([OutFolder.claim(folder), OutFolder.claim(folder), made])
    expect(existsSync(folder)).toBe(true)
    expect(readdirSync(folder)).toEqual([])
    await rm(path('tried'), { recursive: true })
  }
  await OutFolder.claim(folder)
  expect(existsSync(path('tried'))).toBe(false)
})

test('a folder that cannot be', async () => {
  writeFileSync(path('plain'), '')
  await expect(OutFolder.claim(path('plain'))).rejects.toThrow(/it is a file; name a folder/)
  await expect(OutFolder.claim(path('plain/inner'))).rejects.toThrow(/a part of the path is a file/)
  await expect(OutFolder.claim(path('x'.repeat(300)))).rejects.toThrow(/the name is too long/)
})

test('texts replace links and never go through them', async () => {
  writeFileSync(path('victim.html'), 'untouched')
  symlinkSync(path('victim.html'), path('page.html'))
  await replaceFile(path('page.html'), 'new')
  expect(readFileSync(path('victim.html'), 'utf8')).toBe('untouched')
  expect(lstatSync(path('page.html')).isFile()).toBe(true)
  await replaceFile(path('page.html'), 'newer')
  expect(readFileSync(path('page.html'), 'utf8')).toBe('newer')
  await replaceFile('/dev/null', 'x')
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true)
  expect(readdirSync(path('.')).filter((name) => name.includes('partial'))).toEqual([])
})
