/**
 * Kernels for hardware in a page. Node runs their tests; here the browser's own compiler has to accept all of them, and some
 * are run.
 */
import { expect, test } from 'vitest'
import { kernelsOf, type ShaderModules } from '../../scripts/gpu-stats/kernels.ts'
import { blobs, cluster } from '../../src/index.ts'

declare global {
  interface ImportMeta {
    glob(pattern: string[], options: { eager: true }): ShaderModules
  }
}

test('the browser accepts every shader', async () => {
  const modules = import.meta.glob(['../../src/kernels/*.ts'], { eager: true })
  const adapter = await navigator.gpu.requestAdapter()
  const [subgroups, f16] = [adapter!.features.has('subgroups'), adapter!.features.has('shader-f16')]
  const requiredFeatures = [...(subgroups ? ['subgroups'] : []), ...(f16 ? ['shader-f16'] : [])] as GPUFeatureName[]
  const device = await adapter!.requestDevice({ requiredFeatures })
  const kernels = kernelsOf(modules, { subgroups, f16 })
  expect(kernels.length).toBeGreaterThan(100)
  const refused: string[] = []
  for (const { name, code } of kernels) {
    const { messages } = await device.createShaderModule({ code, label: name }).getCompilationInfo()
    for (const { type, message, lineNum } of messages) {
      if (type === 'error') refused.push(`${name}, line ${lineNum}: ${message}`)
    }
  }
  device.destroy()
  expect(refused).toEqual([])
})

test('a run with them ends where it ends on the CPU device', async () => {
  const { vectors } = blobs({ rows: 300, cols: 9, clusters: 4, spread: 0.2, seed: 3, separated: true })
  const options = { k: 4, seed: 2, method: 'lloyd' } as const
  const onGpu = await cluster(vectors, { ...options, device: { kind: 'webgpu', tiled: true, tune: false } })
  const onCpu = await cluster(vectors, { ...options, device: { kind: 'cpu', threads: 2 } })
  expect(onGpu.labels).toEqual(onCpu.labels)
  expect(onGpu.distortion / onCpu.distortion).toBeCloseTo(1, 4)
})
