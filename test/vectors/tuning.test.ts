/** Tuning, on a device whose forms take known times, and what is remembered of it. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import type { Device, DeviceBuffer, Work } from '../../src/device/contract.ts'
import { cpuName } from '../../src/device/cpu/device.ts'
import { KERNEL_FORMS, type KernelForms, SHAPE_CLASSES } from '../../src/device/forms.ts'
import { openDevice as openPlainDevice, prefersCpu } from '../../src/device/open.ts'
import { rememberedTuning, rememberTuning } from '../../src/device/remembered-tuning.ts'
import { assumedSpeed, type DeviceSpeed } from '../../src/device/speed.ts'
import { adapterName } from '../../src/device/webgpu/adapter.ts'
import { openDevice, tune } from '../../src/index.ts'
import { ensureTuned, isTuned, tuneKernels } from '../../src/vectors/tuning.ts'
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
  info: Device['info']
  readonly used: KernelForms[] = []
  runs = 0
  readonly #times: Times
  #forms: KernelForms = {}

  constructor(times: Times, { software = false, name = 'paced GPU' } = {}) {
    this.#times = times
    const speed = assumedSpeed(software ? 'software' : 'hardware', 2)
    this.info = { kind: 'webgpu', name, reason: 'for a test', software, features: [], limits: {}, speed } as never
  }

  useSpeed(speed: DeviceSpeed): void {
    this.info = { ...this.info, speed }
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
    now += this.#times[(form as string | undefined) ?? 'none'] ?? 5
  }
}

const asDevice = (paced: PacedDevice): Device => paced as unknown as Device

describe('tuning', () => {
  test('takes the fastest form of each kernel with the same bits, tells all times and remembers', async () => {
    const paced = new PacedDevice({ scalar: 12, 'wide-tiles': 6, bytes: 9 })
    const shares: number[] = []
    const { forms, timings } = await tuneKernels(asDevice(paced), { onProgress: (share) => shares.push(share) })
    expect(forms).toEqual({ assign: 'wide-tiles', assignBytes: 'wide-tiles' })
    expect(timings.map(({ kernel, shape, form }) => `${kernel} ${shape} ${form}`)).toEqual([
      'assign wide scalar',
      'assign wide wide-tiles',
      'assign narrow scalar',
      'assign narrow wide-tiles',
      'assignBytes wide bytes',
      'assignBytes wide scalar',
      'assignBytes wide wide-tiles',
    ])
    for (const { form, seconds, gflops, exchangeable } of timings) {
      expect(seconds).toBeCloseTo({ scalar: 0.012, 'wide-tiles': 0.006, bytes: 0.009 }[form] as number, 9)
      expect(gflops).toBeGreaterThan(0)
      expect(exchangeable).toBe(true)
    }
    expect(shares).toHaveLength(3)
    expect(shares.at(-1)).toBe(1)
    expect(paced.used.at(-1)).toEqual(forms)
    // 256 x 512 x 128 in 6 ms: 5.6 GFLOP/s, in powers of two 4; forms come first, so that the fastest is measured.
    expect(await rememberedTuning('paced GPU')).toEqual({ forms, exact: 4 })
    expect(paced.info.speed.exact).toEqual({ gflops: 4, source: 'measured' })
    expect(paced.info.speed.closures.source).toBe('assumed')
    expect(await rememberedTuning('another GPU')).toEqual({})
  })

  test('keeps the default where others are hardly faster', async () => {
    const paced = new PacedDevice({ scalar: 10, 'wide-tiles': 9.7, bytes: 10 })
    expect((await tuneKernels(asDevice(paced))).forms).toEqual({ assign: 'scalar', assignBytes: 'bytes' })
  })

  test('never takes a form that rounds differently, however fast, and times it on request', async () => {
    const times = { blocks: 1, tiles: 50, scalar: 10, 'wide-tiles': 30, bytes: 20 }
    const hardware = await tuneKernels(asDevice(new PacedDevice(times)), {}, { everything: true })
    expect(hardware.forms).toEqual({ assign: 'scalar', assignBytes: 'scalar' })
    const blocks = hardware.timings.filter(({ form }) => form === 'blocks')
    expect(blocks.map(({ kernel }) => kernel)).toEqual([
      'assign',
      'assign',
      'assignBytes',
      'matmul',
      'gram',
      'distances',
      'respond',
    ])
    expect(blocks.every(({ exchangeable }) => !exchangeable)).toBe(true)
    const slowBlocks = { ...times, blocks: 100 }
    const software = new PacedDevice(slowBlocks, { software: true, name: 'software' })
    expect(await tuneKernels(asDevice(software))).toEqual({ forms: {}, timings: [] })
    const all = await tuneKernels(asDevice(software), {}, { everything: true })
    expect(all.forms).toEqual({})
    expect(all.timings).toHaveLength(hardware.timings.length)
  })

  test('times the GPU by its own clock where it has one', async () => {
    const paced = new PacedDevice({ scalar: 10, 'wide-tiles': 20, bytes: 10 })
    // By this clock the forms are the other way round.
    const clock = {
      gpuSeconds: async (work: () => Promise<void>) => {
        const began = now
        await work()
        return 0.1 / (now - began)
      },
    }
    expect((await tuneKernels(Object.assign(asDevice(paced), clock))).forms.assign).toBe('wide-tiles')
  })

  test('leaves out a form that is refused', async () => {
    const paced = new PacedDevice({ scalar: 10, 'wide-tiles': 5, bytes: 20 })
    const run = paced.run.bind(paced)
    paced.run = async (work) => {
      if (Object.values(paced.used.at(-1) ?? {})[0] === 'wide-tiles') throw new Error('refused')
      await run(work)
    }
    const { forms, timings } = await tuneKernels(asDevice(paced))
    expect(forms).toEqual({ assign: 'scalar', assignBytes: 'scalar' })
    expect(timings.some(({ form }) => form === 'wide-tiles')).toBe(false)
  })

  test('stops by a signal, and leaves the default forms', async () => {
    const paced = new PacedDevice({ scalar: 6, 'wide-tiles': 6, bytes: 6 })
    await expect(tuneKernels(asDevice(paced), { signal: AbortSignal.abort() })).rejects.toThrow(/abort/)
    expect(paced.used.at(-1) ?? {}).toEqual({})
    expect(await rememberedTuning('paced GPU')).toEqual({})
  })

  test('assumes the usual speed where nothing can be remembered, so that every process chooses alike', async () => {
    vi.spyOn(platform, 'remember').mockResolvedValue()
    const paced = new PacedDevice({ scalar: 12, 'wide-tiles': 6, bytes: 9 })
    await tuneKernels(asDevice(paced))
    expect(paced.used.at(-1)).toEqual({ assign: 'wide-tiles', assignBytes: 'wide-tiles' })
    expect(paced.info.speed).toEqual(assumedSpeed('hardware', 2))
  })

  test('keeps the class of a speed that hardly differs when it is repeated', async () => {
    const measure = async (milliseconds: number) => {
      const paced = new PacedDevice({ scalar: milliseconds, 'wide-tiles': 90, bytes: 90 })
      await tuneKernels(asDevice(paced))
      return paced.info.speed.exact.gflops
    }
    // 5.6, 6.1 and 2.2 GFLOP/s.
    expect([await measure(6), await measure(5.5), await measure(15)]).toEqual([4, 4, 2])
  })
})

describe('tune', () => {
  test('measures both speeds of the CPU device, which later ones are opened with', async () => {
    vi.restoreAllMocks()
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    const { adapter, forms, timings, speed } = await tune({ device })
    expect({ forms, timings }).toEqual({ forms: {}, timings: [] })
    expect([speed.exact.source, speed.closures.source]).toEqual(['measured', 'measured'])
    expect(device.info.speed).toEqual(speed)
    await device.close()
    const { exact, closures } = await rememberedTuning(adapter)
    expect([exact, closures]).toEqual([speed.exact.gflops, speed.closures.gflops])
    for (const [options, source] of [
      [{}, 'measured'],
      [{ tune: false }, 'assumed'],
      [{ gflops: 3 }, 'given'],
    ] as const) {
      const later = await openDevice({ kind: 'cpu', threads: 1, ...options })
      expect(later.info.speed.exact.source).toBe(source)
      await later.close()
    }
  })

  test('refuses what is no device', async () => {
    await expect(tune({ device: 'webgpu' as never })).rejects.toThrow(/give an open device/)
    await expect(tune({ devise: 1 } as never)).rejects.toThrow(/devise/)
  })
})

describe('a device that is used', () => {
  const times = { blocks: 6, scalar: 6, 'wide-tiles': 6, bytes: 6 }

  test('is tuned once, if it is hardware', async () => {
    const paced = new PacedDevice(times, { name: 'new GPU' })
    expect(await Promise.all([ensureTuned(asDevice(paced), {}), ensureTuned(asDevice(paced), {})])).toEqual([
      true,
      true,
    ])
    const { runs } = paced
    expect(runs).toBeGreaterThan(0)
    await ensureTuned(asDevice(paced), {})
    expect(paced.runs).toBe(runs)
    const later = new PacedDevice(times, { name: 'new GPU' })
    expect(await ensureTuned(asDevice(later), {})).toBe(false)
    expect(later.runs).toBe(0)
    expect(isTuned(asDevice(later))).toBe(true)
  })

  test.each([
    ['tuning is switched off', { tune: false }, false],
    ['the kind of kernels is given', { tiled: true }, false],
    ['it is a software adapter', {}, true],
  ])('is not tuned if %s', async (_, options, software) => {
    const paced = new PacedDevice(times, { software, name: 'untuned' })
    expect(await ensureTuned(asDevice(paced), options)).toBe(false)
    expect(paced.runs).toBe(0)
    expect(isTuned(asDevice(paced))).toBe(false)
  })
})

describe('what is remembered', () => {
  const forms: KernelForms = { assign: 'wide-tiles', assignBytes: 'scalar', narrow: { assign: 'scalar' } }

  test('serves several devices, and grows', async () => {
    expect(await rememberTuning('one', { forms })).toBe(true)
    await rememberTuning('two', { exact: 64 })
    await rememberTuning('one', { closures: 32 })
    expect([await rememberedTuning('one'), await rememberedTuning('two')]).toEqual([
      { forms, closures: 32 },
      { exact: 64 },
    ])
  })

  const version = JSON.stringify([1, KERNEL_FORMS, SHAPE_CLASSES])
  const with1 = (one: unknown) => JSON.stringify({ version, devices: { one } })
  test.each([
    ['nothing', ''],
    ['no JSON', '{"version":'],
    ['null', 'null'],
    ['another version', JSON.stringify({ version: 'old', devices: { one: { forms } } })],
    ['no devices', JSON.stringify({ version, devices: null })],
    ['a form that does not exist', with1({ forms: { assign: 'magic' } })],
    ['a kernel that does not exist', with1({ forms: { magic: 'scalar' } })],
    ['a form for narrow rows that does not exist', with1({ forms: { narrow: { assign: 'magic' } } })],
    ['a text in place of forms', with1({ forms: 'scalar' })],
    ['a speed between classes', with1({ exact: 3, closures: 'fast' })],
    ['a speed below zero', with1({ exact: -4, closures: 0 })],
  ])('is ignored if it is %s', async (_, text) => {
    await rememberTuning('other', { forms })
    writeFileSync(join(path('cache'), 'centroidal', 'tuning.json'), text)
    expect(await rememberedTuning('one')).toEqual({})
    await rememberTuning('one', { forms })
    expect(await rememberedTuning('one')).toEqual({ forms })
  })

  test('is used by devices that are opened later, unless tuning is switched off', async () => {
    const device = await openPlainDevice({ kind: 'webgpu' })
    const { name } = device.info
    await device.close()
    await rememberTuning(name, { forms: { assign: 'tiles' }, exact: 16 })
    for (const [options, expected, gflops] of [
      [{}, { assign: 'tiles' }, 16],
      [{ tune: false }, {}, undefined],
      [{ tiled: false }, {}, undefined],
    ] as const) {
      const opened = await openPlainDevice({ kind: 'webgpu', ...options })
      expect((opened as unknown as { forms: KernelForms }).forms).toEqual(expected)
      const { exact } = opened.info.speed
      expect(exact.source === 'measured' ? exact.gflops : undefined).toBe(gflops)
      await opened.close()
    }
  })
})

describe('auto', () => {
  /** As if the adapter of the tests were hardware. */
  async function withGpu(): Promise<string> {
    vi.restoreAllMocks()
    const find = platform.findGpu
    const { entry } = await find({ software: true })
    if (!entry) throw new Error('There is no adapter.')
    // An adapter gives one device.
    vi.spyOn(platform, 'findGpu').mockImplementation(() => find({ software: true }))
    return adapterName(entry)
  }

  test('takes a GPU unless it is known to be slower than the CPU device', async () => {
    const name = await withGpu()
    for (const [exact, kind, reason] of [
      [undefined, 'webgpu', /^auto selects a hardware GPU where there is one$/],
      [
        2 ** 20,
        'webgpu',
        /^auto selects the hardware GPU: about 1,020 TFLOP\/s measured, against about 64 GFLOP\/s assumed/,
      ],
      [
        1,
        'cpu',
        /^auto selects the CPU device: about 64 GFLOP\/s assumed, against about 1 GFLOP\/s measured on the GPU/,
      ],
    ] as const) {
      if (exact !== undefined) await rememberTuning(name, { exact })
      const device = await openPlainDevice({ threads: 1 })
      expect(device.info.kind).toBe(kind)
      expect(device.info.reason).toMatch(reason)
      await device.close()
    }
    const untuned = await openPlainDevice({ threads: 1, tune: false })
    expect(untuned.info.kind).toBe('webgpu')
    await untuned.close()
  })

  test('counts the measured speed of the CPU device', async () => {
    const name = await withGpu()
    await rememberTuning(name, { exact: 16 })
    for (const relaxed of [true, false]) await rememberTuning(cpuName(1, relaxed), { exact: 8 })
    const device = await openPlainDevice({ threads: 1 })
    expect(device.info.kind).toBe('webgpu')
    expect(await prefersCpu(device, { threads: 1 })).toBe(false)
    expect(await prefersCpu(device, { threads: 4 })).toBe(true)
    await device.close()
  })
})
