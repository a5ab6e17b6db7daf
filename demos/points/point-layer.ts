/**
 * The points of a picture: begins with pixels of a canvas, and takes WebGPU once there are so many points that it pays. If the
 * GPU goes away, the canvas takes over again.
 */
import { CanvasRenderer } from './canvas-renderer.ts'
import type { Drawing, PointRenderer } from './renderer.ts'

/** Fewer are drawn by a canvas within a few milliseconds, without a device of their own. */
const MANY = 50_000

export class PointLayer {
  #renderer: PointRenderer = new CanvasRenderer()
  #points: Float32Array = new Float32Array(0)
  #colours: Uint32Array = new Uint32Array(0)
  #drawing: Drawing | undefined
  #tried = false
  readonly #software: boolean

  /** Beside `before`; `software` lets a software adapter draw too, which tests do. */
  constructor(before: HTMLElement, software = new URLSearchParams(location.search).get('points') === 'gpu') {
    before.before(this.#renderer.canvas)
    this.#software = software
    this.#renderer.canvas.dataset.by = 'canvas'
  }

  get canvas(): HTMLCanvasElement {
    return this.#renderer.canvas
  }

  resize(width: number, height: number): void {
    this.#renderer.resize(width, height)
  }

  setPoints(points: Float32Array): void {
    this.#points = points
    this.#renderer.setPoints(points)
    if ((points.length / 2 > MANY || this.#software) && !this.#tried) void this.#tryGpu()
  }

  setColours(colours: Uint32Array): void {
    this.#colours = colours
    this.#renderer.setColours(colours)
  }

  draw(drawing: Drawing): void {
    this.#drawing = drawing
    this.#renderer.draw(drawing)
  }

  async #tryGpu(): Promise<void> {
    this.#tried = true
    try {
      const { GpuRenderer } = await import('./gpu-renderer.ts')
      const lost = (): void => {
        if (this.#renderer === found) this.#take(new CanvasRenderer(), 'canvas')
      }
      const found = await GpuRenderer.open(this.#points.length / 2, lost, this.#software)
      if (found) this.#take(found, 'webgpu')
    } catch {
      // The canvas goes on drawing.
    }
  }

  #take(renderer: PointRenderer, by: string): void {
    const before = this.#renderer
    renderer.resize(before.canvas.width, before.canvas.height)
    before.canvas.replaceWith(renderer.canvas)
    before.destroy()
    this.#renderer = renderer
    renderer.canvas.dataset.by = by
    renderer.setPoints(this.#points)
    renderer.setColours(this.#colours)
    if (this.#drawing) renderer.draw(this.#drawing)
  }
}
