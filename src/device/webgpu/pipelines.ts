/**
 * Pipelines, one for each shader, entry and set of constants, compiled on first use and kept. A shader that this adapter
 * cannot compile is remembered.
 */
import type { ComputePass, Shader, ShaderFeatures } from '../contract.ts'
import { type BindingLayout, bindingKinds, LayoutCache } from './layouts.ts'

export interface Pipeline {
  readonly compute: GPUComputePipeline
  readonly layout: BindingLayout
}

interface Module {
  readonly module: GPUShaderModule
  readonly layout: BindingLayout
  /** The error in the text, or in the number of bindings. */
  readonly problem: Promise<GPUError | null>
}

export class PipelineCache {
  readonly #device: GPUDevice
  readonly #features: ShaderFeatures
  readonly #layouts: LayoutCache
  readonly #modules = new Map<string, Module>()
  readonly #pipelines = new Map<string, Pipeline>()
  readonly #compiling = new Map<string, Promise<void>>()
  /** Why, by the shader's name. */
  readonly #failed = new Map<string, Error>()

  constructor(device: GPUDevice, features: ShaderFeatures) {
    this.#device = device
    this.#features = features
    this.#layouts = new LayoutCache(device)
  }

  /** Starts compiling what a pass needs; undefined where nothing is left to wait for. Never rejects: see `failure`. */
  prepare(pass: ComputePass): Promise<void> | undefined {
    const key = keyOf(pass)
    if (this.#pipelines.has(key) || this.#failed.has(pass.shader.name)) return undefined
    let compiling = this.#compiling.get(key)
    if (compiling === undefined) {
      compiling = this.#compile(key, pass)
        .catch((error) => {
          this.#failed.set(pass.shader.name, error)
        })
        .finally(() => this.#compiling.delete(key))
      this.#compiling.set(key, compiling)
    }
    return compiling
  }

  /** Why a shader cannot be used, as far as that was found out. */
  failure(shader: Shader): Error | undefined {
    return this.#failed.get(shader.name)
  }

  get(pass: ComputePass): Pipeline {
    const pipeline = this.#pipelines.get(keyOf(pass))
    if (pipeline === undefined) throw new Error(`${pass.shader.name} was not prepared`)
    return pipeline
  }

  async #compile(key: string, pass: ComputePass): Promise<void> {
    const { module, layout, problem } = this.#moduleOf(pass.shader)
    const compiling = this.#device.createComputePipelineAsync({
      label: key,
      layout: layout.pipeline,
      compute: {
        module,
        ...(pass.entry === undefined ? {} : { entryPoint: pass.entry }),
        ...(pass.constants === undefined ? {} : { constants: pass.constants }),
      },
    })
    const compute = await compiling.catch(async (error) => {
      // The pipeline knows only that there is something wrong with the shader.
      const cause = await problem
      throw cause ? new Error(cause.message, { cause: error }) : error
    })
    this.#pipelines.set(key, { compute, layout })
  }

  #moduleOf(shader: Shader): Module {
    const known = this.#modules.get(shader.name)
    if (known) return known
    const code = shader.code(this.#features)
    const kinds = shader.layout ?? bindingKinds(shader.name, code)
    this.#device.pushErrorScope('validation')
    const layout = this.#layouts.get(kinds)
    const module = this.#device.createShaderModule({ label: shader.name, code })
    const problem = this.#device.popErrorScope().catch(() => null)
    const made = { module, layout, problem }
    this.#modules.set(shader.name, made)
    return made
  }
}

function keyOf(pass: ComputePass): string {
  const constants = pass.constants ? JSON.stringify(pass.constants) : ''
  return `${pass.shader.name}/${pass.entry ?? ''}${constants}`
}
