/** Points as pixels of a canvas: a write for each pixel of a dot, which 200,000 points take within a few milliseconds. */
import type { Drawing, PointRenderer } from './renderer.ts'

/** A lit dot is so many pixels larger. */
const LARGER = 2

export class CanvasRenderer implements PointRenderer {
  readonly canvas = document.createElement('canvas')
  readonly #context: CanvasRenderingContext2D
  #image = new ImageData(1, 1)
  #pixels = new Uint32Array(1)
  #points: Float32Array = new Float32Array(0)
  #colours: Uint32Array = new Uint32Array(0)

  constructor() {
    // Pixels are written, never read by the GPU: software keeps putImageData cheap.
    const context = this.canvas.getContext('2d', { willReadFrequently: true })
    if (!context) throw new Error('This browser gives no canvas to draw on.')
    this.#context = context
    // Screen readers take the name of the element around it.
    this.canvas.ariaHidden = 'true'
  }

  resize(width: number, height: number): void {
    if (this.canvas.width === width && this.canvas.height === height && this.#image.width === width) return
    this.canvas.width = width
    this.canvas.height = height
    this.#image = new ImageData(width, height)
    this.#pixels = new Uint32Array(this.#image.data.buffer)
  }

  setPoints(points: Float32Array): void {
    this.#points = points
  }

  setColours(colours: Uint32Array): void {
    this.#colours = colours
  }

  draw({ view, dot, lit }: Drawing): void {
    this.#pixels.fill(0)
    this.#paint(view, dot, this.#colours, undefined)
    if (lit) this.#paint(view, dot + LARGER, lit.colour, lit.marks)
    this.#context.putImageData(this.#image, 0, 0)
  }

  destroy(): void {
    this.canvas.remove()
  }

  #paint(
    { scaleX, scaleY, offsetX, offsetY }: Drawing['view'],
    dot: number,
    colours: Uint32Array | number,
    marks?: Uint8Array,
  ): void {
    const { width, height } = this.#image
    const points = this.#points
    const pixels = this.#pixels
    const [one, each] = typeof colours === 'number' ? [colours, undefined] : [0, colours]
    for (let i = 0; 2 * i < points.length; i++) {
      if (marks && marks[i] === 0) continue
      const x = Math.round(points[2 * i] * scaleX + offsetX - dot / 2)
      const y = Math.round(points[2 * i + 1] * scaleY + offsetY - dot / 2)
      if (x <= -dot || y <= -dot || x >= width || y >= height) continue
      const colour = each ? each[i] : one
      const [from, to] = [Math.max(0, x), Math.min(width, x + dot)]
      const last = Math.min(height, y + dot)
      for (let row = Math.max(0, y); row < last; row++) {
        for (let column = from; column < to; column++) pixels[row * width + column] = colour
      }
    }
  }
}
