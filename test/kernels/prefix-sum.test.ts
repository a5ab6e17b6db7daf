import { describe, test } from 'vitest'
import { scanPasses, scanWorkspaceBytes } from '../../src/kernels/prefix-sum.ts'
import { fc } from '../properties.ts'
import { expectSame } from '../tolerance.ts'
import { DEVICES, type OpenedDevice, onDevices } from './devices.ts'
import { anySeed, checkProperty, size, wholeNumbers } from './vectors.ts'

async function run(opened: OpenedDevice, values: Uint32Array): Promise<Uint32Array> {
  return opened.use(async (buffers) => {
    const out = buffers.output(values.byteLength, values)
    const workspace = buffers.output(scanWorkspaceBytes(values.length))
    await buffers.device.run({
      name: 'scan',
      webgpu: (gpu) => scanPasses(gpu, out.buffer, values.length, workspace.buffer),
      cpu: () => [],
    })
    await workspace.bytes()
    return out.words()
  })
}

function sumsBefore(values: Uint32Array): Uint32Array {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum - value
  })
}

onDevices(
  DEVICES.filter(({ name }) => name.startsWith('webgpu')),
  (opened) => {
    describe('scan', () => {
      test.each([1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 131_073])('of %i counts', async (count) => {
        const values = wholeNumbers(count, 1000, count)
        expectSame(await run(opened, values), sumsBefore(values))
      })

      test('of any counts', async () => {
        await checkProperty(opened.runs, fc.tuple(size(2000), anySeed), async ([count, seed]) => {
          const values = wholeNumbers(count, 2 ** 20, seed)
          expectSame(await run(opened, values), sumsBefore(values))
        })
      })
    })
  },
)
