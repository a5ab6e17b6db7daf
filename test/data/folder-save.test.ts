/** What a save leaves in a folder, and what it leaves alone. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { loadFolder } from '../../src/data/folder-load.ts'
import { saveFolder } from '../../src/data/folder-save.ts'
import { type ModelContents, modelFolder, modelKind, readModelFolder } from '../../src/data/model-folder.ts'
import { matrix, readSavedText } from '../../src/index.ts'
import { failure } from './failure.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const round = { iteration: 1, distortion: 0, moved: 0, candidates: 2, seconds: 0, restart: 0 }
const asked = { k: 2, method: 'lloyd', seed: 0, metric: 'euclidean' } as const
const options = {
  ...{ ...asked, iterations: 1, tolerance: 0, restarts: 1, start: 'random', empty: 'farthest', settings: {} },
  ...{ relocate: false, weighted: false },
}
const plain: ModelContents = {
  version: 2,
  facts: {
    ...{ ...asked, rows: 3, cols: 2, options },
    ...{ device: { kind: 'cpu', name: '', reason: '' }, stopped: 'converged', iterations: [round], distortion: 0 },
    frame: { scale: 1, unit: false, type: 'f32' },
  },
  centers: matrix(new Float32Array(4), 2, 2),
  labels: Uint32Array.of(0, 1, 1),
}
const mixture = { ...plain, mixture: { weights: Float32Array.of(0.5, 0.5), sigmas: Float32Array.of(1, 1) } }
const save = (name: string, contents: ModelContents, files: Record<string, string> = {}) =>
  saveFolder(path(name), modelFolder(contents), { files })
const PLAIN = ['centers.npy', 'labels.npy', 'model.json']

describe('what is removed', () => {
  test('files of the earlier save, and no others', async () => {
    await save('a', mixture, { 'run.json': '{}', 'report.html': '' })
    writeFileSync(path('a/mine.npy'), 'mine')
    writeFileSync(path('a/tree.npy'), 'mine too')
    await save('a', plain)
    expect(readdirSync(path('a')).sort()).toEqual([...PLAIN, 'mine.npy', 'tree.npy'].sort())
  })

  test('files of a folder of version 1, and temporary ones', async () => {
    mkdirSync(path('old'))
    writeFileSync(path('old/model.json'), JSON.stringify({ format: 'centroidal clustering', version: 1 }))
    writeFileSync(path('old/run.json'), JSON.stringify({ format: 'centroidal run', version: 1 }))
    const obsolete = ['weights.npy', 'sigmas.npy', 'tree.npy', 'report.html', 'labels.npy.01234567.partial']
    for (const name of [...obsolete, 'mine.txt', 'mine.partial']) writeFileSync(path(`old/${name}`), '')
    await save('old', plain)
    expect(readdirSync(path('old')).sort()).toEqual([...PLAIN, 'mine.partial', 'mine.txt'].sort())
  })

  test('not what belongs to an index of images in the same folder', async () => {
    const shared = { json: 'index.json', format: 'centroidal image index', version: 2, facts: {} } as const
    await save('both', { ...plain, resumeState: { a: Float32Array.of(1) } })
    await saveFolder(path('both'), { ...shared, files: { 'ids.npy': [], 'resume-a.npy': [] } })
    await save('both', plain)
    expect(readdirSync(path('both')).sort()).toEqual([...PLAIN, 'ids.npy', 'index.json', 'resume-a.npy'].sort())
  })

  test('nothing outside, whatever the earlier model.json says', async () => {
    await save('b', mixture)
    writeFileSync(path('keep.npy'), '')
    const text = readFileSync(path('b/model.json'), 'utf8').replace('weights.npy', '../keep.npy')
    writeFileSync(path('b/model.json'), text)
    await save('b', plain)
    expect(readdirSync(path('.'))).toContain('keep.npy')
  })
})

test('links in the folder are replaced, not followed', async () => {
  await save('linked', plain)
  for (const name of ['labels.npy', 'report.html', 'run.json']) {
    writeFileSync(path(`victim-${name}`), 'untouched')
    rmSync(path(`linked/${name}`), { force: true })
    symlinkSync(path(`victim-${name}`), path(`linked/${name}`))
  }
  await save('linked', plain, { 'report.html': '<p>', 'run.json': '{}' })
  for (const name of ['labels.npy', 'report.html', 'run.json']) {
    expect(readFileSync(path(`victim-${name}`), 'utf8')).toBe('untouched')
    expect(lstatSync(path(`linked/${name}`)).isFile()).toBe(true)
  }
})

test('permissions of files stay', async () => {
  await save('modes', plain)
  await chmod(path('modes/labels.npy'), 0o600)
  await save('modes', plain)
  expect(statSync(path('modes/labels.npy')).mode & 0o777).toBe(0o600)
})

test('a folder in the place of a file, a file in the place of the folder', async () => {
  mkdirSync(path('c/labels.npy'), { recursive: true })
  expect(await failure(() => save('c', plain))).toMatch(/^bad-file: Cannot write ".*c\/labels\.npy": it is a folder/)
  expect(readdirSync(path('c'))).toEqual(['labels.npy'])
  writeFileSync(path('file'), '')
  expect(await failure(() => save('file', plain))).toMatch(/it is a file; name a folder/)
  expect(await failure(() => save('file/inner', plain))).toMatch(/a part of the path is a file, not a folder/)
})

test('texts are saved with the rest; their names are checked', async () => {
  await save('texts', plain, { 'notes.txt': 'größer', 'run.json': '{}' })
  expect(await readSavedText(path('texts'), 'notes.txt')).toBe('größer')
  expect(await readSavedText(path('texts'), 'other.txt')).toBeUndefined()
  for (const name of ['../x.txt', 'model.json', 'index.json', 'a/b.txt', 'X.txt', 'labels.npy', '']) {
    expect(await failure(() => save('texts', plain, { [name]: '' }))).toMatch(/^bad-option: .*give names such as/)
  }
})

test('arrays to resume from keep their type and bits, facts to resume from their values', async () => {
  const resumeState = {
    'mixture-weights': Float64Array.of(1 / 3, -0, 1e-320),
    lists: Uint32Array.of(1, 0xffffffff),
    state: Float32Array.of(0.1),
    empty: new Float64Array(0),
  }
  const resume = { restart: 2 }
  await save('resume', { ...plain, resume, resumeState })
  const loaded = await readModelFolder(await loadFolder(path('resume'), modelKind(2)))
  expect(loaded.resumeState).toEqual(resumeState)
  expect(Object.is(loaded.resumeState?.['mixture-weights'][1], -0)).toBe(true)
  expect(loaded.resume).toEqual(resume)
  expect(readdirSync(path('resume'))).toContain('resume-mixture-weights.npy')
  await save('resume', plain)
  expect(readdirSync(path('resume')).sort()).toEqual(PLAIN)
})
