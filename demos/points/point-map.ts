/** A map of points to zoom, pan and point at, by pointer, fingers and keys. What lies over the points is drawn by its owner. */
import { PointGrid } from './point-grid.ts'
import { PointLayer } from './point-layer.ts'
import type { View } from './renderer.ts'

export interface MapEvents {
  /** A point came under the pointer, or none is. */
  onHover(point: number | undefined, x: number, y: number): void
  /** A place was pressed; `x` and `y` in pixels of the page from the upper left corner. */
  onPress(x: number, y: number, point: number | undefined): void
  /** Draws over the points: `place` gives pixels of the page. */
  overlay(
    context: CanvasRenderingContext2D,
    place: (x: number, y: number) => readonly [number, number],
    zoom: number,
  ): void
}

const MARGIN = 28
/** Axes may be stretched this much against each other to fill the picture. */
const MOST_STRETCH = 1.7
/** Share of the points at each end of an axis that may lie in the margin. */
const OUTSIDE = 0.004
const MOST_ZOOM = 200
const NEAR = 40
const KEY_ZOOM = 1.4
const KEY_PAN = 60
const REACH = 14
const KEYS: Readonly<Record<string, (map: PointMap) => void>> = {
  '+': (map) => map.zoom(KEY_ZOOM),
  '=': (map) => map.zoom(KEY_ZOOM),
  '-': (map) => map.zoom(1 / KEY_ZOOM),
  '0': (map) => map.reset(),
  ArrowLeft: (map) => map.pan(KEY_PAN, 0),
  ArrowRight: (map) => map.pan(-KEY_PAN, 0),
  ArrowUp: (map) => map.pan(0, KEY_PAN),
  ArrowDown: (map) => map.pan(0, -KEY_PAN),
}

export class PointMap {
  readonly #room: HTMLElement
  readonly #events: MapEvents
  readonly #over = document.createElement('canvas')
  readonly #layer: PointLayer
  #points: Float32Array = new Float32Array(0)
  #grid: PointGrid | undefined
  #base = { scaleX: 1, scaleY: 1, middleX: 0, middleY: 0 }
  #extents: readonly (readonly [number, number])[] = []
  #zoom = 1
  /** Of the middle of the picture, in pixels before zooming. */
  #shift = { x: 0, y: 0 }
  #waiting = false

  constructor(room: HTMLElement, events: MapEvents) {
    this.#room = room
    this.#events = events
    room.prepend(this.#over)
    // The room has the name, and its keys.
    this.#over.ariaHidden = 'true'
    this.#layer = new PointLayer(this.#over)
    room.tabIndex = 0
    new ResizeObserver(() => this.#fit()).observe(room)
    this.#listen()
  }

  setPoints(points: Float32Array): void {
    this.#points = points
    this.#grid = undefined
    this.#layer.setPoints(points)
    this.#extents = [0, 1].map((axis) => extent(points, axis))
    this.#zoom = 1
    this.#shift = { x: 0, y: 0 }
    this.#fit()
  }

  setColours(colours: Uint32Array): void {
    this.#layer.setColours(colours)
    this.redraw()
  }

  /** Around the middle of the picture, or a place in it. */
  zoom(factor: number, x = this.#room.clientWidth / 2, y = this.#room.clientHeight / 2): void {
    const next = Math.min(MOST_ZOOM, Math.max(1, this.#zoom * factor))
    const [dx, dy] = [x - this.#room.clientWidth / 2, y - this.#room.clientHeight / 2]
    this.#shift.x += dx / this.#zoom - dx / next
    this.#shift.y += dy / this.#zoom - dy / next
    this.#zoom = next
    if (next === 1) this.#shift = { x: 0, y: 0 }
    this.redraw()
  }

  pan(dx: number, dy: number): void {
    this.#shift.x -= dx / this.#zoom
    this.#shift.y -= dy / this.#zoom
    this.redraw()
  }

  reset(): void {
    this.#zoom = 1
    this.#shift = { x: 0, y: 0 }
    this.redraw()
  }

  /** Brings a point into the middle, so near that half of some others are in the picture. */
  centre(point: number, others: Uint32Array): void {
    const { scaleX, scaleY, middleX, middleY } = this.#base
    const at = (i: number): [number, number] => [this.#points[2 * i] * scaleX, this.#points[2 * i + 1] * scaleY]
    const [x, y] = at(point)
    const away = Array.from(others, (i) => Math.hypot(at(i)[0] - x, at(i)[1] - y)).sort((a, b) => a - b)
    const side = Math.min(this.#room.clientWidth, this.#room.clientHeight)
    this.#zoom = Math.min(NEAR, Math.max(1, (0.3 * side) / (away[away.length >> 1] || 1)))
    this.#shift = { x: x - middleX * scaleX, y: y - middleY * scaleY }
    this.redraw()
  }

  /** With the next frame. */
  redraw(): void {
    if (this.#waiting) return
    this.#waiting = true
    requestAnimationFrame(() => this.#draw())
  }

  #fit(): void {
    const { clientWidth: width, clientHeight: height } = this.#room
    if (width === 0 || this.#extents.length === 0) return
    const [[left, right], [low, high]] = this.#extents
    const wide = (width - 2 * MARGIN) / (right - left || 1)
    const tall = (height - 2 * MARGIN) / (high - low || 1)
    const least = Math.min(wide, tall)
    this.#base = {
      scaleX: Math.min(wide, MOST_STRETCH * least),
      scaleY: -Math.min(tall, MOST_STRETCH * least),
      middleX: (left + right) / 2,
      middleY: (low + high) / 2,
    }
    this.#draw()
  }

  /** In pixels of the page. */
  #view(): View {
    const { scaleX, scaleY, middleX, middleY } = this.#base
    const { clientWidth: width, clientHeight: height } = this.#room
    const zoom = this.#zoom
    return {
      scaleX: scaleX * zoom,
      scaleY: scaleY * zoom,
      offsetX: width / 2 - (middleX * scaleX + this.#shift.x) * zoom,
      offsetY: height / 2 - (middleY * scaleY + this.#shift.y) * zoom,
    }
  }

  #draw(): void {
    this.#waiting = false
    const { clientWidth: width, clientHeight: height } = this.#room
    if (width === 0) return
    const ratio = Math.min(2, devicePixelRatio)
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
    this.#layer.resize(w, h)
    const view = this.#view()
    const { scaleX, scaleY, offsetX, offsetY } = view
    const n = this.#points.length / 2
    const dot = Math.max(
      1,
      Math.round((n > 200_000 ? 1 : n > 8000 ? 1.5 : 2.5) * ratio * Math.min(2, this.#zoom ** 0.35)),
    )
    this.#layer.draw({
      view: { scaleX: scaleX * ratio, scaleY: scaleY * ratio, offsetX: offsetX * ratio, offsetY: offsetY * ratio },
      dot,
    })
    // A canvas that gets a size is made anew, which is not worth it for every round.
    if (this.#over.width !== w || this.#over.height !== h) Object.assign(this.#over, { width: w, height: h })
    const context = this.#over.getContext('2d') as CanvasRenderingContext2D
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    this.#events.overlay(context, (x, y) => [x * scaleX + offsetX, y * scaleY + offsetY], this.#zoom)
    Object.assign(this.#room.dataset, { zoom: this.#zoom.toFixed(2), drawnBy: this.#layer.canvas.dataset.by })
  }

  #pointAt(x: number, y: number): number | undefined {
    if (this.#points.length === 0) return undefined
    this.#grid ??= new PointGrid(this.#points)
    const { scaleX, scaleY, offsetX, offsetY } = this.#view()
    return this.#grid.nearest(
      (x - offsetX) / scaleX,
      (y - offsetY) / scaleY,
      REACH / Math.abs(scaleX),
      REACH / Math.abs(scaleY),
    )
  }

  #listen(): void {
    const room = this.#room
    const fingers = new Map<number, { x: number; y: number }>()
    let moved = 0
    const at = (event: MouseEvent): { x: number; y: number } => {
      const { left, top } = room.getBoundingClientRect()
      return { x: event.clientX - left, y: event.clientY - top }
    }
    room.addEventListener('wheel', (event) => {
      event.preventDefault()
      const { x, y } = at(event)
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), x, y)
    })
    room.addEventListener('pointerdown', (event) => {
      if (event.target instanceof Element && event.target.closest('button')) return
      room.setPointerCapture(event.pointerId)
      fingers.set(event.pointerId, at(event))
      moved = 0
    })
    room.addEventListener('pointermove', (event) => {
      const now = at(event)
      const before = fingers.get(event.pointerId)
      if (!before) {
        this.#events.onHover(this.#pointAt(now.x, now.y), now.x, now.y)
        return
      }
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1]
      if (other) {
        const spread = (from: { x: number; y: number }): number => Math.hypot(from.x - other.x, from.y - other.y) || 1
        this.zoom(spread(now) / spread(before), (now.x + other.x) / 2, (now.y + other.y) / 2)
      } else this.pan(now.x - before.x, now.y - before.y)
      moved += Math.hypot(now.x - before.x, now.y - before.y)
      fingers.set(event.pointerId, now)
    })
    room.addEventListener('pointerup', (event) => {
      const { x, y } = at(event)
      if (fingers.delete(event.pointerId) && moved < 5) this.#events.onPress(x, y, this.#pointAt(x, y))
    })
    room.addEventListener('pointercancel', ({ pointerId }) => fingers.delete(pointerId))
    room.addEventListener('pointerleave', () => this.#events.onHover(undefined, 0, 0))
    room.addEventListener('keydown', (event) => {
      const act = KEYS[event.key]
      if (!act || event.target !== room || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      act(this)
    })
  }
}

function extent(points: Float32Array, axis: number): readonly [number, number] {
  const step = Math.max(1, Math.floor(points.length / 2 / 20_000))
  const values = Float32Array.from(
    { length: Math.ceil(points.length / 2 / step) },
    (_, i) => points[2 * i * step + axis],
  ).sort()
  const skipped = Math.floor(values.length * OUTSIDE)
  return [values[skipped] ?? 0, values[values.length - 1 - skipped] ?? 1]
}
