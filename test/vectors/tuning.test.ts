/** Tuning, on a device whose forms take known times, and what is remembered of it. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Device, DeviceBuffer, Work } from '../../src/device/contract.ts'
import { KERNEL_FORMS, type KernelForms } from '../../src/device/forms.ts'
import { openDevice as openPlainDevice } from '../../src/device/open.ts'
import { rememberedForms, rememberForms } from '../../src/device/remembered-forms.ts'
import { CentroidalError, openDevice, tune } from '../../src/index.ts'
import { ensureTuned } from '../../src/vectors/tuning.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
/** Time passes only while a device works. */
let now = 0
beforeEach(() => {
  rmSync(path('cache'), { recursive: true, force: true })
  vi.stubEnv('XDG_CACHE_HOME', path('cache'))
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Milliseconds that a form takes. */
type Times = Readonly<Record<string, number>>

class PacedDevice {
  readonly info: Device['info']
  readonly used: KernelForms[] = []
  runs = 0
  readonly #times: Times
  #forms: KernelForms = {}

  constructor(times: Times, { software = false, name = 'paced GPU' } = {}) {
    this.#times = times
    this.info = { kind: 'webgpu', name, reason: 'for a test', software, features: [], limits: {} } as never
  }

  useForms(forms: KernelForms): void {
    this.#forms = forms
    this.used.push(forms)
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    return { bytes, label, freed: false, free: () => {} } as never
  }

  write(): void {}

  async read(): Promise<ArrayBuffer> {
    return new ArrayBuffer(4)
  }

  async run(_work: Work): Promise<void> {
    this.runs++
    const [form] = Object.values(this.#forms)
    now += this.#times[form]
  }
}

const asDevice = (paced: PacedDevice): Device => paced as unknown as Device

describe('tune', () => {
  test('takes the fastest form of each kernel, tells all times and remembers', async () => {
    const paced = new PacedDevice({ scalar: 12, 'wide-tiles': 6, bytes: 9 })
    const shares: number[] = []
    const { adapter, forms, timings } = await tune({
      device: asDevice(paced),
      onProgress: (share) => shares.push(share),
    })
    expect(adapter).toBe('paced GPU')
    expect(forms).toEqual({ assign: 'wide-tiles', assignBytes: 'wide-tiles' })
    expect(timings.map(({ kernel, form }) => `${kernel} ${form}`)).toEqual([
      'assign scalar',
      'assign wide-tiles',
      'assignBytes bytes',
      'assignBytes scalar',
      'assignBytes wide-tiles',
    ])
    for (const { form, seconds, gflops } of timings) {
      expect(seconds).toBeCloseTo({ scalar: 0.012, 'wide-tiles': 0.006, bytes: 0.009 }[form] as number, 9)
      expect(gflops).toBeGreaterThan(0)
    }
    expect(shares).toEqual([0.5, 1])
    expect(paced.used.at(-1)).toEqual(forms)
    expect(rememberedForms('paced GPU')).toEqual(forms)
    expect(rememberedForms('another GPU')).toBeUndefined()
  })

  test('keeps the default where others are hardly faster', async () => {
    const { forms } = await tune({ device: asDevice(new PacedDevice({ scalar: 10, 'wide-tiles': 9.7, bytes: 10 })) })
    expect(forms).toEqual({ assign: 'scalar', assignBytes: 'bytes' })
  })

  test('offers the form without barriers to software adapters only', async () => {
    const times = { blocks: 5, scalar: 10, 'wide-tiles': 30, bytes: 20 }
    const { forms } = await tune({ device: asDevice(new PacedDevice(times, { software: true })) })
    expect(forms).toEqual({ assign: 'blocks', assignBytes: 'blocks' })
  })

  test('stops by a signal, and leaves the default forms', async () => {
    const paced = new PacedDevice({ scalar: 6, 'wide-tiles': 6, bytes: 6 })
    await expect(tune({ device: asDevice(paced), signal: AbortSignal.abort() })).rejects.toThrow(/abort/)
    expect(paced.used.at(-1) ?? {}).toEqual({})
    expect(rememberedForms('paced GPU')).toBeUndefined()
  })

  test('refuses the CPU device, and what is no device', async () => {
    const device = await openDevice({ kind: 'cpu', shared: false })
    await expect(tune({ device })).rejects.toThrow(
      new CentroidalError('bad-option', 'The CPU device has one form of each kernel: give a WebGPU device to tune.'),
    )
    await device.close()
    await expect(tune({ device: 'webgpu' as never })).rejects.toThrow(/give an open device/)
    await expect(tune({ devise: 1 } as never)).rejects.toThrow(/devise/)
  })
})

describe('a device that is used', () => {
  const times = { blocks: 6, scalar: 6, 'wide-tiles': 6, bytes: 6 }

  test('is tuned once, if it is hardware', async () => {
    const paced = new PacedDevice(times, { name: 'new GPU' })
    await Promise.all([ensureTuned(asDevice(paced), {}), ensureTuned(asDevice(paced), {})])
    const { runs } = paced
    expect(runs).toBeGreaterThan(0)
    await ensureTuned(asDevice(paced), {})
    expect(paced.runs).toBe(runs)
    const later = new PacedDevice(times, { name: 'new GPU' })
    await ensureTuned(asDevice(later), {})
    expect(later.runs).toBe(0)
  })

  test.each([
    ['tuning is switched off', { tune: false }, false],
    ['the kind of kernels is given', { tiled: true }, false],
    ['it is a software adapter', {}, true],
  ])('is not tuned if %s', async (_, options, software) => {
    const paced = new PacedDevice(times, { software, name: 'untuned' })
    await ensureTuned(asDevice(paced), options)
    expect(paced.runs).toBe(0)
  })
})

describe('what is remembered', () => {
  const forms: KernelForms = { assign: 'wide-tiles', assignBytes: 'scalar' }

  test('serves several adapters', () => {
    rememberForms('one', forms)
    rememberForms('two', { assign: 'scalar' })
    expect([rememberedForms('one'), rememberedForms('two')]).toEqual([forms, { assign: 'scalar' }])
  })

  const version = JSON.stringify(KERNEL_FORMS)
  test.each([
    ['nothing', ''],
    ['no JSON', '{"version":'],
    ['null', 'null'],
    ['another version', JSON.stringify({ version: 'old', adapters: { one: forms } })],
    ['no adapters', JSON.stringify({ version, adapters: null })],
    ['a form that does not exist', JSON.stringify({ version, adapters: { one: { assign: 'magic' } } })],
    ['a kernel that does not exist', JSON.stringify({ version, adapters: { one: { magic: 'scalar' } } })],
    ['a text in place of forms', JSON.stringify({ version, adapters: { one: 'scalar' } })],
  ])('is ignored if it is %s', (_, text) => {
    rememberForms('other', forms)
    writeFileSync(join(path('cache'), 'centroidal', 'kernel-forms.json'), text)
    expect(rememberedForms('one')).toBeUndefined()
    rememberForms('one', forms)
    expect(rememberedForms('one')).toEqual(forms)
  })

  test('is used by devices that are opened later, unless tuning is switched off', async () => {
    const device = await openPlainDevice({ kind: 'webgpu' })
    const { name } = device.info
    await device.close()
    rememberForms(name, { assign: 'tiles' })
    for (const [options, expected] of [
      [{}, { assign: 'tiles' }],
      [{ tune: false }, {}],
      [{ tiled: false }, {}],
    ] as const) {
      const opened = await openPlainDevice({ kind: 'webgpu', ...options })
      expect((opened as unknown as { forms: KernelForms }).forms).toEqual(expected)
      await opened.close()
    }
  })
})
