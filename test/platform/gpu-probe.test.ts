/** When the system's GPU driver is looked at, and what is remembered of it. */
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ProbeSurroundings, probeSystemDriver } from '../../src/platform/gpu-probe.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
const look = vi.fn<ProbeSurroundings['look']>()
const surroundings: ProbeSurroundings = {
  hasLoader: () => true,
  manifests: () => ['driver.json'],
  fingerprint: () => 'as installed',
  look,
}
let folders = 0
let memory = ''

beforeEach(() => {
  folders++
  vi.stubEnv('XDG_CACHE_HOME', path(`cache-${folders}`))
  memory = path(`cache-${folders}/centroidal/gpu-driver.json`)
  look.mockReset().mockResolvedValue('hardware')
})

afterEach(() => {
  vi.unstubAllEnvs()
})

const probe = (change: Partial<ProbeSurroundings> = {}) => probeSystemDriver({ ...surroundings, ...change })

describe.runIf(process.platform === 'linux')('the driver', () => {
  test.each(['hardware', 'software'] as const)('that gave a %s adapter is asked once', async (adapter) => {
    look.mockResolvedValue(adapter)
    for (let process = 0; process < 3; process++) expect(await probe()).toMatchObject({ adapter })
    expect(look).toHaveBeenCalledTimes(1)
    expect(readdirSync(path(`cache-${folders}/centroidal`))).toEqual(['gpu-driver.json'])
  })

  test('that did not answer is asked again', async () => {
    look.mockResolvedValueOnce('none')
    expect(await probe()).toEqual({ adapter: 'none', whyNot: 'no hardware GPU driver answered' })
    expect(await probe()).toMatchObject({ adapter: 'hardware' })
  })

  test('that was replaced is asked again', async () => {
    await probe()
    look.mockResolvedValue('software')
    expect(await probe({ fingerprint: () => 'another' })).toMatchObject({ adapter: 'software' })
    expect(await probe({ fingerprint: () => undefined })).toMatchObject({ adapter: 'software' })
    expect(look).toHaveBeenCalledTimes(3)
  })

  test('is not asked where none is installed, or no loader', async () => {
    expect(await probe({ manifests: () => [] })).toEqual({ adapter: 'none', whyNot: 'no GPU driver is installed' })
    expect(await probe({ hasLoader: () => false })).toEqual({
      adapter: 'none',
      whyNot: 'the Vulkan loader (libvulkan.so.1) is missing',
    })
    expect(look).not.toHaveBeenCalled()
  })
})

describe.runIf(process.platform === 'linux')('what was remembered', () => {
  test.each([
    ['empty', () => writeFileSync(memory, '')],
    ['cut off', () => writeFileSync(memory, readFileSync(memory, 'utf8').slice(0, 30))],
    ['of another kind', () => writeFileSync(memory, '[1, 2]')],
    ['null', () => writeFileSync(memory, 'null')],
    ['an unknown answer', () => writeFileSync(memory, '{"fingerprint":"as installed","adapter":"none"}')],
    ['writable by others', () => chmodSync(memory, 0o666)],
  ])('is not believed when it is %s', async (_, damage) => {
    await probe()
    damage()
    look.mockResolvedValue('software')
    expect(await probe()).toMatchObject({ adapter: 'software' })
    expect(look).toHaveBeenCalledTimes(2)
    // And is put right.
    expect(await probe()).toMatchObject({ adapter: 'software' })
    expect(look).toHaveBeenCalledTimes(2)
  })

  test('is not read or written through a link', async () => {
    await probe()
    const elsewhere = path('elsewhere.json')
    const planted = '{"fingerprint":"planted","adapter":"hardware"}'
    writeFileSync(elsewhere, planted)
    rmSync(memory)
    symlinkSync(elsewhere, memory)
    look.mockResolvedValue('software')
    expect(await probe({ fingerprint: () => 'planted' })).toMatchObject({ adapter: 'software' })
    expect(readFileSync(elsewhere, 'utf8')).toBe(planted)
  })

  test('is nothing where there is no folder to write to', async () => {
    writeFileSync(path('a file'), '')
    vi.stubEnv('XDG_CACHE_HOME', path('a file'))
    for (let process = 0; process < 2; process++) expect(await probe()).toMatchObject({ adapter: 'hardware' })
    expect(look).toHaveBeenCalledTimes(2)
  })
})
