/** Pipelines, one for each shader, entry and set of constants, compiled on first use and kept. */
import type { ComputePass, ShaderFeatures } from '../contract.ts'

export class PipelineCache {
  readonly #device: GPUDevice
  readonly #features: ShaderFeatures
  readonly #modules = new Map<string, GPUShaderModule>()
  readonly #pipelines = new Map<string, GPUComputePipeline>()

  constructor(device: GPUDevice, features: ShaderFeatures) {
    this.#device = device
    this.#features = features
  }

  async prepare(pass: ComputePass): Promise<void> {
    const key = keyOf(pass)
    if (this.#pipelines.has(key)) return
    let module = this.#modules.get(pass.shader.name)
    if (module === undefined) {
      module = this.#device.createShaderModule({ label: pass.shader.name, code: pass.shader.code(this.#features) })
      this.#modules.set(pass.shader.name, module)
    }
    const pipeline = await this.#device.createComputePipelineAsync({
      label: key,
      layout: 'auto',
      compute: {
        module,
        ...(pass.entry === undefined ? {} : { entryPoint: pass.entry }),
        ...(pass.constants === undefined ? {} : { constants: pass.constants }),
      },
    })
    this.#pipelines.set(key, pipeline)
  }

  get(pass: ComputePass): GPUComputePipeline {
    const pipeline = this.#pipelines.get(keyOf(pass))
    if (pipeline === undefined) throw new Error(`${pass.shader.name} was not prepared`)
    return pipeline
  }
}

function keyOf(pass: ComputePass): string {
  const constants = pass.constants ? JSON.stringify(pass.constants) : ''
  return `${pass.shader.name}/${pass.entry ?? ''}${constants}`
}
