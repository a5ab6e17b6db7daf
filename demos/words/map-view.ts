/** The map: rows as points, centres in front, as large as their clusters, or the words that stand for them. */
import type { Matrix } from '../../src/index.ts'
import { PointMap } from '../points/point-map.ts'
import { clusterColours, cssColour, packedColours, prefersDark } from '../shell/cluster-colours.ts'
import { thumbnail } from './thumbnails.ts'

export interface MapScene {
  /** Where each row lies: x, y, x, y. */
  readonly places: Float32Array
  /** Labels of all rows, and centres, once there are any. */
  readonly clusters: { readonly labels: Uint32Array; readonly centers: Matrix; readonly sizes: Uint32Array } | undefined
  /** What stands for each cluster, where rows have names. */
  readonly names: readonly string[] | undefined
  /** Full ink, where centres are pictures. */
  readonly ink: number | undefined
  readonly selected: number | undefined
  /** A row that was searched for and its neighbours, by name. */
  readonly focus: { readonly row: number; readonly neighbours: Uint32Array; name(row: number): string } | undefined
}

export interface MapListener {
  onCluster(cluster: number): void
  onRow(row: number): void
  nameOf(row: number): string
}

interface Place {
  readonly x: number
  readonly y: number
  readonly radius: number
}

type Placement = (x: number, y: number) => readonly [number, number]

/** Half the side of a picture on the map; less where the map is narrow. */
const HALF_THUMB = 14
const NARROW = 480
const GREY = Uint8Array.of(128, 130, 136)
const FONT = '600 12px system-ui, sans-serif'

export class MapView {
  readonly #room: HTMLElement
  readonly #listener: MapListener
  readonly #map: PointMap
  readonly #tip = document.createElement('div')
  #scene: MapScene | undefined
  #middles: Float32Array = new Float32Array(0)
  #centers: Place[] = []

  constructor(room: HTMLElement, listener: MapListener) {
    this.#room = room
    this.#listener = listener
    this.#tip.className = 'tip'
    this.#tip.hidden = true
    this.#map = new PointMap(room, {
      onHover: (point, x, y) => this.#hover(point, x, y),
      onPress: (x, y, point) => this.#press(x, y, point),
      overlay: (context, place, zoom) => this.#overlay(context, place, zoom),
    })
    room.append(this.#tip)
  }

  show(scene: MapScene): void {
    const before = this.#scene
    this.#scene = scene
    if (scene.places !== before?.places) this.#map.setPoints(scene.places)
    if (scene.places !== before?.places || scene.clusters !== before?.clusters) this.#colour(scene)
    if (scene.focus && scene.focus !== before?.focus) {
      this.#map.centre(scene.focus.row, scene.focus.neighbours)
    }
    this.#map.redraw()
  }

  zoom(factor: number): void {
    this.#map.zoom(factor)
  }

  reset(): void {
    this.#map.reset()
  }

  redraw(): void {
    if (this.#scene) this.#colour(this.#scene)
  }

  #colour({ places, clusters }: MapScene): void {
    const n = places.length / 2
    const packed = packedColours(clusters ? clusterColours(clusters.centers.rows, prefersDark()) : GREY, 170)
    const labels = clusters?.labels
    this.#map.setColours(Uint32Array.from({ length: n }, (_, i) => packed[labels ? labels[i] : 0]))
    this.#middles = clusters ? middlesOf(places, clusters.labels, clusters.sizes) : new Float32Array(0)
  }

  #hover(point: number | undefined, x: number, y: number): void {
    this.#tip.hidden = point === undefined
    if (point === undefined) return
    this.#tip.textContent = this.#listener.nameOf(point)
    Object.assign(this.#tip.style, { left: `${x + 12}px`, top: `${y + 12}px` })
  }

  /** A centre within its circle and a finger's breadth, else a point. */
  #press(x: number, y: number, point: number | undefined): void {
    let best: number | undefined
    let least = Number.POSITIVE_INFINITY
    this.#centers.forEach((place, cluster) => {
      const distance = Math.hypot(place.x - x, place.y - y)
      if (distance < Math.max(place.radius, 22) && distance < least) {
        best = cluster
        least = distance
      }
    })
    const named = this.#scene?.names !== undefined
    if (best !== undefined && !named) this.#listener.onCluster(best)
    else if (point !== undefined) this.#listener.onRow(point)
  }

  #overlay(context: CanvasRenderingContext2D, place: Placement, zoom: number): void {
    const scene = this.#scene
    if (!scene?.clusters) return
    const { names, focus } = scene
    // What was searched for stands out.
    context.globalAlpha = focus ? 0.35 : 1
    if (names) this.#drawNames(context, place, names)
    else this.#drawCenters(context, place, zoom)
    context.globalAlpha = 1
    if (focus) this.#drawFocus(context, place, focus)
  }

  /** The largest clusters first; a name that would lie on another waits until the map is nearer. */
  #drawNames(context: CanvasRenderingContext2D, place: Placement, names: readonly string[]): void {
    const { clusters, selected } = this.#scene as MapScene
    if (!clusters) return
    const { clientWidth: width, clientHeight: height } = this.#room
    const order = [...clusters.sizes.keys()].sort((a, b) => clusters.sizes[b] - clusters.sizes[a])
    if (selected !== undefined) order.unshift(selected)
    const taken: (readonly [number, number, number])[] = []
    this.#centers = []
    context.font = FONT
    context.textAlign = 'center'
    for (const j of order) {
      const [x, y] = place(this.#middles[2 * j], this.#middles[2 * j + 1])
      this.#centers[j] = { x, y, radius: 8 }
      const half = context.measureText(names[j] ?? '').width / 2 + 5
      if (x < 0 || y < 0 || x > width || y > height) continue
      if (taken.some(([a, b, other]) => Math.abs(a - x) < half + other && Math.abs(b - y) < 17)) continue
      taken.push([x, y, half])
      this.#write(context, names[j] ?? '', x, y + 4, j === selected)
    }
  }

  #drawFocus(context: CanvasRenderingContext2D, place: Placement, focus: NonNullable<MapScene['focus']>): void {
    const { places } = this.#scene as MapScene
    const at = (row: number): readonly [number, number] => place(places[2 * row], places[2 * row + 1])
    const [x, y] = at(focus.row)
    context.lineWidth = 1.5
    context.strokeStyle = getComputedStyle(this.#room).color
    for (const row of focus.neighbours) {
      const [a, b] = at(row)
      context.globalAlpha = 0.5
      context.beginPath()
      context.moveTo(x, y)
      context.lineTo(a, b)
      context.stroke()
      context.globalAlpha = 1
    }
    context.font = FONT
    context.textAlign = 'center'
    for (const row of focus.neighbours) this.#write(context, focus.name(row), at(row)[0], at(row)[1] - 6, false)
    context.beginPath()
    context.arc(x, y, 5, 0, 2 * Math.PI)
    context.lineWidth = 3
    context.stroke()
    context.font = '700 15px system-ui, sans-serif'
    this.#write(context, focus.name(focus.row), x, y - 10, true)
  }

  #write(context: CanvasRenderingContext2D, text: string, x: number, y: number, strong: boolean): void {
    const { color, backgroundColor } = getComputedStyle(this.#room)
    context.lineJoin = 'round'
    context.lineWidth = strong ? 5 : 3
    context.strokeStyle = backgroundColor
    context.strokeText(text, x, y)
    context.fillStyle = color
    context.fillText(text, x, y)
    context.strokeStyle = color
  }

  #drawCenters(context: CanvasRenderingContext2D, place: Placement, zoom: number): void {
    const { clusters, ink, selected } = this.#scene as MapScene
    if (!clusters) return
    const { centers, sizes } = clusters
    const colours = clusterColours(centers.rows, prefersDark())
    const largest = sizes.reduce((most, size) => Math.max(most, size), 1)
    const { color, backgroundColor } = getComputedStyle(this.#room)
    const inkBytes = (color.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number)
    const half = (this.#room.clientWidth < NARROW ? 0.7 : 1) * HALF_THUMB * Math.min(2, Math.sqrt(zoom))
    const most = Math.min(26, 9 + 90 / Math.sqrt(centers.rows))
    this.#centers = Array.from({ length: centers.rows }, (_, j) => {
      const [x, y] = place(this.#middles[2 * j], this.#middles[2 * j + 1])
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
      if (ink === undefined) continue
      const side = 2 * radius - 2
      context.drawImage(thumbnail(centers, j, ink, inkBytes), x - radius + 1, y - radius + 1, side, side)
    }
  }
}

/** The mean of the places of a cluster's rows: on a plane, the place of its centre. */
function middlesOf(places: Float32Array, labels: Uint32Array, sizes: Uint32Array): Float32Array {
  const sums = new Float64Array(2 * sizes.length)
  for (let i = 0; i < labels.length; i++) {
    sums[2 * labels[i]] += places[2 * i]
    sums[2 * labels[i] + 1] += places[2 * i + 1]
  }
  return Float32Array.from(sums, (sum, at) => sum / sizes[at >> 1])
}
