/**
 * Runs in a process of its own, with Mesa's shim loaded: compiles the kernels of a JSON file through Dawn. The driver
 * prints what it made to stderr; marks written between tell which kernel it belongs to. Nothing is executed.
 */
import { readFileSync, writeSync } from 'node:fs'
import { create, globals } from 'webgpu'
import type { Kernel } from './kernels.ts'

Object.assign(globalThis, globals)
const mark = (text: string) => writeSync(2, `\n@@ ${text}\n`)

const kernels = JSON.parse(readFileSync(process.argv[2], 'utf8')) as Kernel[]
const gpu = create(['backend=vulkan'])
const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
if (!adapter) {
  mark('NO ADAPTER')
  process.exit(1)
}
mark(`ADAPTER ${adapter.info.description || adapter.info.device}`)
const { maxComputeWorkgroupStorageSize, maxStorageBuffersPerShaderStage, maxComputeInvocationsPerWorkgroup } =
  adapter.limits
const device = await adapter.requestDevice({
  requiredFeatures: (['subgroups', 'shader-f16'] as const).filter((feature) => adapter.features.has(feature)),
  requiredLimits: {
    maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage,
    maxComputeInvocationsPerWorkgroup,
  },
})
for (const [index, { name, code, entry }] of kernels.entries()) {
  mark(`BEGIN ${index}`)
  try {
    device.pushErrorScope('validation')
    const module = device.createShaderModule({ label: name, code })
    const compute = { module, entryPoint: entry }
    device.pushErrorScope('internal')
    device.createComputePipeline({ label: name, layout: 'auto', compute })
    for (const error of [await device.popErrorScope(), await device.popErrorScope()]) {
      if (error) mark(`ERROR ${error.message.split('\n').slice(0, 8).join(' / ')}`)
    }
  } catch (error) {
    mark(`ERROR ${error}`)
  }
  mark(`END ${index}`)
}
process.exit(0)
