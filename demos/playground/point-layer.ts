/**
 * Points as pixels. Where each lies in the picture is worked out once; a new round is then one write a dot pixel, which
 * 200,000 points take within a few milliseconds.
 */
export class PointLayer {
  readonly #context: CanvasRenderingContext2D
  #image = new ImageData(1, 1)
  #pixels = new Uint32Array(1)
  #places = new Uint32Array(0)
  #dot = 1

  constructor(canvas: HTMLCanvasElement) {
    // Pixels are written, never read by the GPU: software keeps putImageData cheap.
    const context = canvas.getContext('2d', { willReadFrequently: true })
    if (!context) throw new Error('This browser gives no canvas to draw on.')
    this.#context = context
  }

  /** For points [n][2] in the unit square, on a square of `side` pixels. */
  fit(points: Float32Array, side: number, ratio: number): void {
    const { canvas } = this.#context
    if (canvas.width !== side) {
      canvas.width = side
      canvas.height = side
      this.#image = new ImageData(side, side)
      this.#pixels = new Uint32Array(this.#image.data.buffer)
    }
    const n = points.length / 2
    this.#dot = Math.max(1, Math.round((n > 50_000 ? 1 : n > 8000 ? 2 : n > 1500 ? 3 : 4) * ratio))
    this.#places = new Uint32Array(n)
    // Dots stay inside the picture, lit ones too, which are two pixels larger.
    const last = side - this.#dot - 2
    for (let i = 0; i < n; i++) {
      const x = Math.min(last, Math.max(1, Math.round(points[2 * i] * side - this.#dot / 2)))
      const y = Math.min(last, Math.max(1, Math.round(points[2 * i + 1] * side - this.#dot / 2)))
      this.#places[i] = y * side + x
    }
  }

  /** Colours are packed pixels, one for each label; `lit` marks points to draw larger, in front, in one colour. */
  paint(labels: Uint32Array | undefined, colours: Uint32Array, lit: Uint8Array | undefined, litColour: number): void {
    this.#pixels.fill(0)
    const places = this.#places
    const plain = colours[0]
    if (this.#dot === 1) {
      const pixels = this.#pixels
      if (labels) for (let i = 0; i < places.length; i++) pixels[places[i]] = colours[labels[i]]
      else for (let i = 0; i < places.length; i++) pixels[places[i]] = plain
    } else {
      for (let i = 0; i < places.length; i++) this.#square(places[i], this.#dot, labels ? colours[labels[i]] : plain)
    }
    if (lit) this.#paintLit(lit, litColour)
    this.#context.putImageData(this.#image, 0, 0)
  }

  #paintLit(lit: Uint8Array, colour: number): void {
    const side = this.#image.width
    for (let i = 0; i < lit.length; i++) {
      if (lit[i]) this.#square(this.#places[i] - side - 1, this.#dot + 2, colour)
    }
  }

  #square(place: number, size: number, colour: number): void {
    const side = this.#image.width
    for (let row = 0; row < size; row++) {
      const start = place + row * side
      this.#pixels.fill(colour, start, start + size)
    }
  }
}
