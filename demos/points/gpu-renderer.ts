/** Points by WebGPU on a canvas of the page. */
import { GpuPoints } from './gpu-points.ts'
import type { Drawing, PointRenderer } from './renderer.ts'

const LEAST_BINDING = 128 * 2 ** 20

export class GpuRenderer implements PointRenderer {
  readonly canvas: HTMLCanvasElement
  readonly #device: GPUDevice
  readonly #context: GPUCanvasContext
  readonly #points: GpuPoints

  private constructor(device: GPUDevice, context: GPUCanvasContext, canvas: HTMLCanvasElement) {
    this.canvas = canvas
    // Screen readers take the name of the element around it.
    canvas.ariaHidden = 'true'
    this.#device = device
    this.#context = context
    const format = navigator.gpu.getPreferredCanvasFormat()
    context.configure({ device, format, alphaMode: 'premultiplied' })
    this.#points = new GpuPoints(device, format)
  }

  /** Undefined where there is no GPU, or a software adapter alone: there pixels of a canvas are faster. */
  static async open(most: number, onLost: () => void, software: boolean): Promise<GpuRenderer | undefined> {
    const adapter = await navigator.gpu?.requestAdapter()
    if (!adapter || (adapter.info.isFallbackAdapter && !software)) return undefined
    const device = await adapter.requestDevice({
      requiredLimits: { maxStorageBufferBindingSize: Math.max(8 * most, LEAST_BINDING) },
    })
    const canvas = document.createElement('canvas')
    const context = canvas.getContext('webgpu')
    if (!context) return undefined
    void device.lost.then(onLost)
    return new GpuRenderer(device, context, canvas)
  }

  resize(width: number, height: number): void {
    if (this.canvas.width !== width) this.canvas.width = width
    if (this.canvas.height !== height) this.canvas.height = height
  }

  setPoints(points: Float32Array): void {
    this.#points.setPoints(points)
  }

  setColours(colours: Uint32Array): void {
    this.#points.setColours(colours)
  }

  draw(drawing: Drawing): void {
    this.#points.draw(this.#context.getCurrentTexture(), drawing)
  }

  destroy(): void {
    this.#device.destroy()
    this.canvas.remove()
  }
}
