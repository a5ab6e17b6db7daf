/**
 * Draws points as dots. Two forms: pixels of a canvas (canvas-renderer.ts), and WebGPU (gpu-renderer.ts) for many points where
 * there is a GPU. Written by hand, as the libraries for it weigh more than the pages: deck.gl and regl-scatterplot are both
 * over 100 kB compressed and have no WebGPU form of points that falls back by itself.
 */

/** Where a point lies in the picture, in its pixels: x * scaleX + offsetX, and the same for y. */
export interface View {
  readonly scaleX: number
  readonly scaleY: number
  readonly offsetX: number
  readonly offsetY: number
}

export interface Drawing {
  readonly view: View
  /** Side of a dot, in pixels of the picture. */
  readonly dot: number
  /** Points drawn larger and in front, in one packed colour. */
  readonly lit?: { readonly marks: Uint8Array; readonly colour: number } | undefined
}

export interface PointRenderer {
  readonly canvas: HTMLCanvasElement
  resize(width: number, height: number): void
  /** x, y, x, y. */
  setPoints(points: Float32Array): void
  /** A packed colour for each point: alpha, blue, green, red from the highest byte on. */
  setColours(colours: Uint32Array): void
  draw(drawing: Drawing): void
  destroy(): void
}
