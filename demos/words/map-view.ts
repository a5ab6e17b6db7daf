/** The map: points lightly behind, centres in front, as large as their clusters. Drawn on a canvas. */
import type { Matrix } from '../../src/index.ts'
import { clusterColours, cssColour, prefersDark } from '../shell/cluster-colours.ts'
import type { VectorMap } from './map-task.ts'
import { placesOf } from './plane.ts'
import { thumbnail } from './thumbnails.ts'

export interface MapScene {
  readonly map: VectorMap
  /** Labels of all rows, and centres, once there are any. */
  readonly clusters: { readonly labels: Uint32Array; readonly centers: Matrix; readonly sizes: Uint32Array } | undefined
  /** Full ink, where centres are pictures. */
  readonly ink: number | undefined
  readonly selected: number | undefined
}

interface Place {
  readonly x: number
  readonly y: number
  readonly radius: number
}

const MARGIN = 28
/** Half the side of a picture on the map; less where the map is narrow. */
const HALF_THUMB = 14
const NARROW = 480

export class MapView {
  readonly #canvas: HTMLCanvasElement
  #scene: MapScene | undefined
  #extents: readonly [Extent, Extent] | undefined
  #centers: Place[] = []

  constructor(canvas: HTMLCanvasElement, onPick: (cluster: number) => void) {
    this.#canvas = canvas
    new ResizeObserver(() => this.#draw()).observe(canvas)
    canvas.addEventListener('click', ({ offsetX, offsetY }) => {
      const found = this.#nearest(offsetX, offsetY)
      if (found !== undefined) onPick(found)
    })
  }

  show(scene: MapScene): void {
    if (scene.map !== this.#scene?.map) this.#extents = [extent(scene.map.places, 0), extent(scene.map.places, 1)]
    this.#scene = scene
    this.#draw()
  }

  redraw(): void {
    this.#draw()
  }

  /** The centre under the pointer: the nearest within its circle and a finger's breadth. */
  #nearest(x: number, y: number): number | undefined {
    let best: number | undefined
    let least = Number.POSITIVE_INFINITY
    this.#centers.forEach((place, cluster) => {
      const distance = Math.hypot(place.x - x, place.y - y)
      if (distance < Math.max(place.radius, 22) && distance < least) {
        best = cluster
        least = distance
      }
    })
    return best
  }

  #draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const context = this.#canvas.getContext('2d')
    if (!context || width === 0) return
    const scale = globalThis.devicePixelRatio || 1
    const size = [Math.round(width * scale), Math.round(height * scale)]
    // A canvas that gets a size is made anew, which is not worth it for every round.
    if (this.#canvas.width !== size[0] || this.#canvas.height !== size[1]) {
      ;[this.#canvas.width, this.#canvas.height] = size
    }
    context.setTransform(scale, 0, 0, scale, 0, 0)
    context.clearRect(0, 0, width, height)
    if (!this.#scene || !this.#extents) return
    const { map, clusters } = this.#scene
    const place = placement(this.#extents, width, height)
    const colours = clusters && clusterColours(clusters.centers.rows, prefersDark())
    context.globalAlpha = clusters ? 0.35 : 0.5
    for (let i = 0; i < map.rows.length; i++) {
      context.fillStyle = colours && clusters ? cssColour(colours, clusters.labels[map.rows[i]]) : 'gray'
      const [x, y] = place(map.places[2 * i], map.places[2 * i + 1])
      context.fillRect(x - 1.25, y - 1.25, 2.5, 2.5)
    }
    context.globalAlpha = 1
    if (clusters && colours) this.#drawCenters(context, place, colours)
  }

  #drawCenters(context: CanvasRenderingContext2D, place: Placement, colours: Uint8Array): void {
    const { map, clusters, ink, selected } = this.#scene as MapScene
    if (!clusters) return
    const { centers, sizes } = clusters
    const where = placesOf(map.plane, centers)
    const largest = sizes.reduce((most, size) => Math.max(most, size), 1)
    const { color, backgroundColor } = getComputedStyle(this.#canvas)
    const inkBytes = (color.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number)
    const half = this.#canvas.clientWidth < NARROW ? 0.7 * HALF_THUMB : HALF_THUMB
    const most = Math.min(26, 9 + 90 / Math.sqrt(centers.rows))
    this.#centers = Array.from({ length: centers.rows }, (_, j) => {
      const [x, y] = place(where[2 * j], where[2 * j + 1])
      return { x, y, radius: ink === undefined ? 3 + most * Math.sqrt(sizes[j] / largest) : half }
    })
    const order = [...this.#centers.keys()].filter((j) => sizes[j] > 0 && j !== selected)
    // The selected one goes last, on top of all.
    if (selected !== undefined && selected < centers.rows) order.push(selected)
    for (const j of order) {
      const { x, y, radius } = this.#centers[j]
      context.beginPath()
      if (ink === undefined) context.arc(x, y, radius, 0, 2 * Math.PI)
      else context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, 5)
      context.globalAlpha = ink === undefined ? 0.75 : 0.92
      context.fillStyle = ink === undefined ? cssColour(colours, j) : backgroundColor
      context.fill()
      context.globalAlpha = 1
      context.lineWidth = j === selected ? 4 : 2
      context.strokeStyle = j === selected ? color : ink === undefined ? backgroundColor : cssColour(colours, j)
      context.stroke()
      if (ink !== undefined) {
        context.drawImage(
          thumbnail(centers, j, ink, inkBytes),
          x - radius + 1,
          y - radius + 1,
          2 * radius - 2,
          2 * radius - 2,
        )
      }
    }
  }
}

/** Axes may be stretched this much against each other to fill the canvas. */
const MOST_STRETCH = 1.7
/** Share of the points at each end of an axis that may lie in the margin. */
const OUTSIDE = 0.004

interface Extent {
  readonly from: number
  readonly to: number
}

type Placement = (x: number, y: number) => readonly [number, number]

function placement([x, y]: readonly [Extent, Extent], width: number, height: number): Placement {
  const wide = (width - 2 * MARGIN) / (x.to - x.from || 1)
  const high = (height - 2 * MARGIN) / (y.to - y.from || 1)
  const least = Math.min(wide, high)
  const [scaleX, scaleY] = [Math.min(wide, MOST_STRETCH * least), Math.min(high, MOST_STRETCH * least)]
  return (px, py) => [width / 2 + (px - (x.from + x.to) / 2) * scaleX, height / 2 - (py - (y.from + y.to) / 2) * scaleY]
}

function extent(places: Float32Array, axis: 0 | 1): Extent {
  const values = places.filter((_, i) => i % 2 === axis).sort()
  const skipped = Math.floor(values.length * OUTSIDE)
  return { from: values[skipped], to: values[values.length - 1 - skipped] }
}
