/** Shaders that an adapter cannot compile: others take their place, with a note, and the device goes on. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ComputePass, Device, DeviceBuffer, GpuTarget, Shader, Work } from '../../src/device/contract.ts'
import { openDevice } from '../../src/index.ts'
import { openStrictWebGpu } from '../kernels/devices.ts'

let device: Device
beforeEach(async () => {
  device = await openDevice({ kind: 'webgpu' })
})
afterEach(() => device.close())

/** Writes a number to the first word. */
function shader(name: string, value: string, more = ''): Shader {
  return {
    name,
    code: () => `
struct Params { add: u32 }
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;
${more}
@compute @workgroup_size(1)
fn main() { out[0] = ${value} + params.add; }
`,
  }
}

const good = shader('good', '40u')
const wrong = shader('wrong', 'nothingOfThisName')
const huge = shader('huge', 'tile[params.add]', 'var<workgroup> tile: array<u32, 4000000>;')

function pass(of: Shader, out: DeviceBuffer): ComputePass {
  return { shader: of, bindings: [out], params: [2], groups: [1] }
}

function work(webgpu: (gpu: GpuTarget) => Iterable<ComputePass>): Work {
  return { name: 'forms', webgpu, cpu: () => [] }
}

async function first(buffer: DeviceBuffer): Promise<number> {
  return new Uint32Array(await device.read(buffer))[0]
}

test.each([wrong, huge])('the next form serves where $name is refused', async (refused) => {
  const out = device.allocate(16, 'out')
  const seen: boolean[] = []
  const forms = work(function* (gpu) {
    seen.push(gpu.usable(refused))
    yield pass(gpu.usable(refused) ? refused : good, out)
  })
  await device.run(forms)
  expect(await first(out)).toBe(42)
  expect(device.notes?.length).toBe(1)
  expect(device.notes?.[0]).toMatch(new RegExp(`^${refused.name} cannot be used on this GPU: .`))
  device.clear(out)
  seen.length = 0
  await device.run(forms)
  expect(await first(out)).toBe(42)
  expect(seen).not.toContain(true)
  expect(device.notes?.length).toBe(1)
})

test('forms are tried in turn', async () => {
  const out = device.allocate(16, 'out')
  await device.run(work((gpu) => [pass([huge, wrong].find((shader) => gpu.usable(shader)) ?? good, out)]))
  expect(await first(out)).toBe(42)
  expect(device.notes?.length).toBe(2)
})

test('a kernel that only knows forms for hardware and for software adapters gets the latter', async () => {
  const tiled = await openDevice({ kind: 'webgpu', tiled: true })
  const out = tiled.allocate(16, 'out')
  await tiled.run(work((gpu) => [pass(gpu.tiled ? wrong : good, out)]))
  expect(new Uint32Array(await tiled.read(out))[0]).toBe(42)
  expect(tiled.notes?.length).toBe(1)
  await tiled.close()
})

test('a strict device runs no other form, however often it is asked', async () => {
  const strict = await openStrictWebGpu({ tiled: true })
  const out = strict.allocate(16, 'out')
  const forms = work((gpu) => [pass(gpu.tiled && gpu.usable(wrong) ? wrong : good, out)])
  await strict.prepare?.(forms).catch(() => {})
  for (let run = 0; run < 2; run++) await expect(strict.run(forms)).rejects.toThrow(wrong.name)
  await strict.run(work(() => [pass(good, out)]))
  expect(new Uint32Array(await strict.read(out))[0]).toBe(42)
  await strict.close()
})

test('nothing of a work is run before all of it is compiled', async () => {
  const out = device.allocate(16, 'out')
  await expect(device.run(work(() => [pass(good, out), pass(wrong, out)]))).rejects.toThrow()
  expect(await first(out)).toBe(0)
})

test('without another form the work fails, and the device goes on', async () => {
  const out = device.allocate(16, 'out')
  await expect(device.run(work(() => [pass(wrong, out)]))).rejects.toThrow()
  await expect(device.run(work(() => [pass(wrong, out)]))).rejects.toThrow()
  await device.run(work(() => [pass(good, out)]))
  expect(await first(out)).toBe(42)
})

test('work can be compiled ahead', async () => {
  const out = device.allocate(16, 'out')
  const forms = work((gpu) => [gpu.usable(wrong) ? pass(wrong, out) : pass(good, out), pass(good, out)])
  await device.prepare?.(forms)
  expect(device.launches).toEqual({ submits: 0, dispatches: 0, readbacks: 0 })
  await device.run(forms)
  expect(await first(out)).toBe(42)
})
