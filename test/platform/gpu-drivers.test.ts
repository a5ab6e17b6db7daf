/** What is told of a system's GPU drivers from its files. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { driverFingerprint, driverManifests, hasGpu } from '../../src/platform/gpu-drivers.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
const onLinux = test.runIf(process.platform === 'linux')

function write(file: string, text = ''): string {
  mkdirSync(dirname(path(file)), { recursive: true })
  writeFileSync(path(file), text)
  return path(file)
}

/** A driver with its library beside it. */
function writeDriver(name: string): string {
  write(`drivers/${name}.so`, 'library')
  return write(`drivers/${name}.json`, JSON.stringify({ ICD: { library_path: `./${name}.so` } }))
}

describe('hardware', () => {
  onLinux.each([
    ['nothing', ['null', 'tty', 'shm/x', 'dri/'], false],
    ['a card without rendering', ['null', 'dri/card0', 'dri/by-path/x'], false],
    ['a card that renders', ['dri/card0', 'dri/renderD128'], true],
    ['NVIDIA', ['nvidia0', 'nvidiactl'], true],
    ['Windows Subsystem for Linux', ['dxg'], true],
    ['Adreno', ['kgsl-3d0'], true],
  ])('%s', (name, files, expected) => {
    for (const file of files) {
      if (file.endsWith('/')) mkdirSync(path(`dev-${name}/${file}`), { recursive: true })
      else write(`dev-${name}/${file}`)
    }
    expect(hasGpu(path(`dev-${name}`))).toBe(expected)
  })

  test('may be there where it cannot be seen', () => {
    expect(hasGpu(path('no such folder'))).toBe(true)
  })
})

describe('manifests', () => {
  test('are found where the loader searches', () => {
    const home = write('home/.local/share/vulkan/icd.d/a.json')
    const config = write('config/vulkan/icd.d/b.json')
    write('config/vulkan/icd.d/readme.txt')
    const data = write('data2/vulkan/icd.d/c.json')
    const env = { HOME: path('home'), XDG_CONFIG_HOME: path('config'), XDG_DATA_DIRS: `${path('data1')}:${path('data2')}` } // biome-ignore format: short
    const found = driverManifests(env).filter((file) => file.startsWith(path('.')))
    expect(found.sort()).toEqual([config, data, home].sort())
  })

  test('are those of the variables, if there are any', () => {
    const [one, two] = [write('one.json'), write('folder/two.json')]
    for (const variable of ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES']) {
      const env = { [variable]: `${one}:${path('missing.json')}:${path('folder')}` }
      expect(driverManifests(env)).toEqual([one, two])
    }
    expect(driverManifests({ VK_DRIVER_FILES: one, VK_ADD_DRIVER_FILES: two })).toEqual([one, two])
    expect(driverManifests({ HOME: path('nobody'), VK_ADD_DRIVER_FILES: two })).toContain(two)
  })
})

describe('the fingerprint', () => {
  onLinux('changes with drivers and variables, and with nothing else', () => {
    const [one, two] = [writeDriver('one'), writeDriver('two')]
    const loader = write('drivers/libvulkan.so.1', 'loader')
    const env = { LD_LIBRARY_PATH: path('drivers'), VK_ICD_FILENAMES: one, EDITOR: 'vi' }
    const seen = new Set<string | undefined>()
    const expectNew = (manifests: readonly string[], variables: Record<string, string> = env): void => {
      const found = driverFingerprint(manifests, variables)
      expect(found).toMatch(/^[0-9a-f]{64}$/)
      expect(seen.has(found)).toBe(false)
      seen.add(found)
      expect(driverFingerprint(manifests, { ...variables, EDITOR: 'emacs', PWD: '/' })).toBe(found)
    }
    expectNew([one])
    expectNew([one, two])
    expectNew([one], { ...env, VK_LOADER_LAYERS_DISABLE: '*' })
    writeFileSync(path('drivers/one.so'), 'another')
    expectNew([one])
    utimesSync(loader, 1e9, 1e9)
    expectNew([one])
    utimesSync(one, 1e9, 1e9)
    expectNew([one])
  })

  onLinux('is not given where a driver cannot be followed', () => {
    write('drivers/libvulkan.so.1', 'loader')
    const env = { LD_LIBRARY_PATH: path('drivers') }
    const unknown = write('drivers/unknown.json', '{ "ICD": { "library_path": "libnowhere-to-be-found.so" } }')
    const damaged = write('drivers/damaged.json', '{ "ICD": ')
    for (const manifest of [unknown, damaged, path('missing.json')]) {
      expect(driverFingerprint([manifest], env)).toBeUndefined()
    }
  })
})
