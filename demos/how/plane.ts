/** A square canvas with points in the unit square: drawing in its coordinates, and choosing a point by pointer or arrow keys. */

export interface Pen {
  readonly context: CanvasRenderingContext2D
  dots(points: Float32Array, which: Iterable<number>, radius: number, colour: string): void
  ring(x: number, y: number, radius: number, colour: string, width?: number): void
  line(x: number, y: number, toX: number, toY: number, colour: string, width?: number): void
  /** Corners: x and y in turn. */
  shape(
    corners: readonly number[],
    style: { readonly fill?: string; readonly stroke?: string; readonly width?: number },
  ): void
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

export class Plane {
  readonly #canvas: HTMLCanvasElement
  readonly #draw: (pen: Pen) => void
  points: Float32Array = new Float32Array(0)
  selected = 0
  #drawn = false

  constructor(canvas: HTMLCanvasElement, draw: (pen: Pen) => void, onSelect: () => void) {
    this.#canvas = canvas
    this.#draw = draw
    const choose = (point: number): void => {
      if (point === this.selected || point < 0) return
      this.selected = point
      onSelect()
    }
    const nearestTo = (event: PointerEvent): number => {
      const { left, top, width, height } = canvas.getBoundingClientRect()
      return this.#nearest((event.clientX - left) / width, (event.clientY - top) / height)
    }
    canvas.addEventListener('pointermove', (event) => choose(nearestTo(event)))
    canvas.addEventListener('pointerdown', (event) => choose(nearestTo(event)))
    canvas.addEventListener('keydown', (event) => {
      const way = KEYS[event.key]
      if (!way) return
      event.preventDefault()
      choose(this.#towards(way))
    })
    new ResizeObserver(() => this.redraw()).observe(canvas)
  }

  /** Many changes between two frames are one picture. */
  redraw(): void {
    if (this.#drawn) return
    this.#drawn = true
    requestAnimationFrame(() => {
      this.#drawn = false
      this.#paint()
    })
  }

  #paint(): void {
    const ratio = Math.min(2, devicePixelRatio)
    const side = Math.max(1, Math.round(this.#canvas.clientWidth * ratio))
    if (this.#canvas.width !== side) {
      this.#canvas.width = side
      this.#canvas.height = side
    }
    const context = this.#canvas.getContext('2d')
    if (!context) return
    context.clearRect(0, 0, side, side)
    context.lineJoin = 'round'
    this.#draw(penFor(context, side, ratio))
  }

  #nearest(x: number, y: number): number {
    let best = -1
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.points.length / 2; i++) {
      const distance = (this.points[2 * i] - x) ** 2 + (this.points[2 * i + 1] - y) ** 2
      if (distance < least) {
        least = distance
        best = i
      }
    }
    return best
  }

  /** The nearest point that lies in a direction, within 45 degrees of it. */
  #towards([dx, dy]: readonly [number, number]): number {
    const [x, y] = [this.points[2 * this.selected], this.points[2 * this.selected + 1]]
    let best = this.selected
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.points.length / 2; i++) {
      const [toX, toY] = [this.points[2 * i] - x, this.points[2 * i + 1] - y]
      const along = toX * dx + toY * dy
      const across = Math.abs(toX * dy) + Math.abs(toY * dx)
      if (along > 0 && across <= along && along < least) {
        least = along
        best = i
      }
    }
    return best
  }
}

function penFor(context: CanvasRenderingContext2D, side: number, ratio: number): Pen {
  return {
    context,
    dots(points, which, radius, colour) {
      context.fillStyle = colour
      context.beginPath()
      for (const i of which) {
        const [x, y] = [points[2 * i] * side, points[2 * i + 1] * side]
        context.moveTo(x + radius * ratio, y)
        context.arc(x, y, radius * ratio, 0, 2 * Math.PI)
      }
      context.fill()
    },
    ring(x, y, radius, colour, width = 2) {
      context.strokeStyle = colour
      context.lineWidth = width * ratio
      context.beginPath()
      context.arc(x * side, y * side, radius * ratio, 0, 2 * Math.PI)
      context.stroke()
    },
    line(x, y, toX, toY, colour, width = 1.5) {
      context.strokeStyle = colour
      context.lineWidth = width * ratio
      context.beginPath()
      context.moveTo(x * side, y * side)
      context.lineTo(toX * side, toY * side)
      context.stroke()
    },
    shape(corners, { fill, stroke, width = 1 }) {
      if (corners.length < 4) return
      context.beginPath()
      for (let i = 0; i < corners.length; i += 2) context.lineTo(corners[i] * side, corners[i + 1] * side)
      context.closePath()
      if (fill) {
        context.fillStyle = fill
        context.fill()
      }
      if (stroke) {
        context.strokeStyle = stroke
        context.lineWidth = width * ratio
        context.stroke()
      }
    },
  }
}
