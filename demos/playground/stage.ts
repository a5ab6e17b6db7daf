/** One square with points, and what a method makes of them: cells below the points, centres and circles above. */
import { PointLayer } from '../points/point-layer.ts'
import { clusterColours, cssColour, packedColours, prefersDark } from '../shell/cluster-colours.ts'
import { CellPictures } from './cell-pictures.ts'
import { firstIdentities, followIdentities } from './identities.ts'

export interface Layers {
  readonly cells: boolean
  readonly lit: boolean
  readonly leaves: boolean
  readonly circles: boolean
}

/** Labels and centres after a round, or centres alone at the start. */
export interface Look {
  readonly labels: Uint32Array | undefined
  readonly centers: Float32Array
  readonly sigmas: Float32Array | undefined
}

interface Scene extends Look {
  readonly identities: Uint32Array
  /** Where each centre was before, and how wide. */
  readonly origins: Float32Array
  readonly widths: Float32Array | undefined
  /** Points that changed cluster in this round. */
  readonly lit: Uint8Array | undefined
  /** Components that went in this round: x, y and width of each. */
  readonly gone: readonly (readonly [number, number, number])[]
}

export class Stage {
  readonly #room: HTMLElement
  readonly #colourOf: ((centers: Float32Array, dark: boolean) => Uint8Array) | undefined
  readonly #below: CanvasRenderingContext2D
  readonly #above: CanvasRenderingContext2D
  readonly #pointLayer: PointLayer
  readonly #cells = new CellPictures()
  #points: Float32Array = new Float32Array(0)
  #scene: Scene | undefined
  #leaves: readonly number[][] = []
  #layers: Layers = { cells: true, lit: true, leaves: false, circles: true }
  #colours: Uint8Array = new Uint8Array(0)
  #side = 0
  #pointsChanged = true
  /** Milliseconds the last pictures took, the newest counting most. */
  drawing = 0

  /** `colourOf` chooses colours by the places of centres, one for each; by default they differ as much as they can. */
  constructor(room: HTMLElement, colourOf?: (centers: Float32Array, dark: boolean) => Uint8Array) {
    this.#room = room
    this.#colourOf = colourOf
    const [below, above] = Array.from({ length: 2 }, () => document.createElement('canvas'))
    room.prepend(below, above)
    this.#below = contextOf(below)
    this.#above = contextOf(above)
    this.#pointLayer = new PointLayer(above)
    new ResizeObserver(() => this.refresh()).observe(room)
  }

  /** All again: the size or the theme changed. */
  refresh(): void {
    this.#side = Math.max(1, Math.round(this.#room.clientWidth * this.#ratio))
    for (const { canvas } of [this.#below, this.#above]) {
      canvas.width = this.#side
      canvas.height = this.#side
    }
    this.#pointLayer.resize(this.#side, this.#side)
    this.#chooseColours()
    this.#pointsChanged = true
    this.draw(1)
  }

  setPoints(points: Float32Array): void {
    this.#points = points
    this.#scene = undefined
    this.#leaves = []
    this.#pointLayer.setPoints(points)
    this.refresh()
  }

  setLeaves(leaves: readonly number[][]): void {
    this.#leaves = leaves
    this.draw(1)
  }

  setLayers(layers: Layers): void {
    this.#layers = layers
    this.#pointsChanged = true
    this.draw(1)
  }

  setLook(look: Look | undefined): void {
    const before = this.#scene
    this.#scene = look && nextScene(before, look)
    if (this.#colourOf || this.#colours.length < 3 * this.#identityCount()) this.#chooseColours()
    this.#pointsChanged = true
  }

  /** Draws; `share` is how far centres are on their way from where they were. */
  draw(share: number): void {
    const began = performance.now()
    const scene = this.#scene
    if (this.#pointsChanged) this.#paintPoints(scene)
    this.#pointsChanged = false
    const centers = scene && between(scene.origins, scene.centers, share)
    this.#drawBelow(scene, share)
    this.#drawAbove(scene, centers, share)
    const time = performance.now() - began
    this.drawing = this.drawing === 0 ? time : this.drawing + 0.2 * (time - this.drawing)
  }

  get #ratio(): number {
    return Math.min(2, devicePixelRatio)
  }

  #chooseColours(): void {
    this.#colours =
      this.#colourOf && this.#scene
        ? this.#colourOf(this.#scene.centers, prefersDark())
        : clusterColours(Math.max(1, this.#identityCount()), prefersDark())
  }

  #identityCount(): number {
    return this.#scene ? this.#scene.identities.reduce((most, one) => Math.max(most, one + 1), 0) : 0
  }

  #paintPoints(scene: Scene | undefined): void {
    const dark = prefersDark()
    const plain = Uint8Array.of(128, 130, 136)
    const packed = packedColours(scene?.labels ? this.#colours : plain)
    const colours = scene?.labels ? Uint32Array.from(scene.identities, (identity) => packed[identity]) : packed
    const marks = this.#layers.lit ? scene?.lit : undefined
    const n = this.#points.length / 2
    const labels = scene?.labels
    this.#pointLayer.setColours(Uint32Array.from({ length: n }, (_, i) => colours[labels ? labels[i] : 0]))
    this.#pointLayer.draw({
      view: { scaleX: this.#side, scaleY: this.#side, offsetX: 0, offsetY: 0 },
      dot: Math.max(1, Math.round((n > 50_000 ? 1 : n > 8000 ? 2 : n > 1500 ? 3 : 4) * this.#ratio)),
      lit: marks && { marks, colour: dark ? 0xffffffff : 0xff000000 },
    })
  }

  /** Cells of the centres before and after, which give way to one another while the centres move. */
  #drawBelow(scene: Scene | undefined, share: number): void {
    const context = this.#below
    context.clearRect(0, 0, this.#side, this.#side)
    // The clusters of mixtures are no cells of the nearest centre.
    if (!scene || !this.#layers.cells || scene.sigmas) return
    const strength = prefersDark() ? 0.28 : 0.2
    for (const [centers, weight] of [
      [scene.origins, 1 - share],
      [scene.centers, share],
    ] as const) {
      if (weight === 0) continue
      context.globalAlpha = strength * weight
      context.drawImage(this.#cells.picture(centers, this.#side, this.#colourNames(scene)), 0, 0)
    }
    context.globalAlpha = 1
  }

  #colourNames(scene: Scene): string[] {
    return Array.from(scene.identities, (identity) => cssColour(this.#colours, identity))
  }

  #drawAbove(scene: Scene | undefined, centers: Float32Array | undefined, share: number): void {
    const context = this.#above
    const ratio = this.#ratio
    context.clearRect(0, 0, this.#side, this.#side)
    if (this.#layers.leaves) this.#drawLeaves(context, ratio)
    if (!scene || !centers) return
    if (this.#layers.circles) this.#drawCircles(context, scene, centers, share)
    context.lineWidth = 2 * ratio
    context.strokeStyle = prefersDark() ? '#000' : '#fff'
    const many = centers.length > 400
    const radius = (many ? 3 : 6) * ratio
    for (let i = 0; i < centers.length / 2; i++) {
      context.fillStyle = cssColour(this.#colours, scene.identities[i])
      const [x, y] = [centers[2 * i] * this.#side, centers[2 * i + 1] * this.#side]
      if (many) {
        // Hundreds of outlined circles would take most of a frame.
        context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius)
        continue
      }
      context.beginPath()
      context.arc(x, y, radius, 0, 2 * Math.PI)
      context.fill()
      context.stroke()
    }
  }

  #drawLeaves(context: CanvasRenderingContext2D, ratio: number): void {
    context.strokeStyle = prefersDark() ? 'rgb(255 255 255 / 0.55)' : 'rgb(0 0 0 / 0.5)'
    context.lineWidth = ratio
    context.beginPath()
    for (const leaf of this.#leaves) this.#trace(context, leaf)
    context.stroke()
  }

  /** Two standard deviations, as wide as they are on their way; those that were purged fade. */
  #drawCircles(context: CanvasRenderingContext2D, scene: Scene, centers: Float32Array, share: number): void {
    if (!scene.sigmas || !scene.widths) return
    const widths = between(scene.widths, scene.sigmas, share)
    context.lineWidth = 2 * this.#ratio
    for (let i = 0; i < widths.length; i++) {
      const colour = cssColour(this.#colours, scene.identities[i])
      this.#circle(context, centers[2 * i], centers[2 * i + 1], widths[i])
      context.globalAlpha = 0.12
      context.fillStyle = colour
      context.fill()
      context.globalAlpha = 1
      context.strokeStyle = colour
      context.stroke()
    }
    if (share >= 1) return
    context.setLineDash([4 * this.#ratio, 4 * this.#ratio])
    context.globalAlpha = 1 - share
    context.strokeStyle = prefersDark() ? '#fff' : '#000'
    for (const [x, y, width] of scene.gone) {
      this.#circle(context, x, y, width * (1 - share))
      context.stroke()
    }
    context.globalAlpha = 1
    context.setLineDash([])
  }

  #circle(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
    context.beginPath()
    context.arc(x * this.#side, y * this.#side, 2 * width * this.#side, 0, 2 * Math.PI)
  }

  #trace(context: CanvasRenderingContext2D, corners: readonly number[]): void {
    for (let i = 0; i < corners.length; i += 2) {
      const [x, y] = [corners[i] * this.#side, corners[i + 1] * this.#side]
      if (i === 0) context.moveTo(x, y)
      else context.lineTo(x, y)
    }
    context.closePath()
  }
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d')
  if (!context) throw new Error('This browser gives no canvas to draw on.')
  return context
}

function nextScene(before: Scene | undefined, look: Look): Scene {
  const { centers, labels, sigmas } = look
  if (!before) {
    const identities = firstIdentities(centers.length / 2)
    return { ...look, identities, origins: centers, widths: sigmas, lit: undefined, gone: [] }
  }
  const identities = followIdentities(before, centers)
  const index = new Map(Array.from(before.identities, (identity, i) => [identity, i]))
  const from = Array.from(identities, (identity) => index.get(identity) as number)
  const origins = Float32Array.from(centers, (_, i) => before.centers[2 * from[i >> 1] + (i & 1)])
  const old = before.sigmas
  const lit = changedPoints(identities, labels, before)
  const stayed = new Set(from)
  const gone = old
    ? Array.from(old, (width, j) => [before.centers[2 * j], before.centers[2 * j + 1], width] as const)
    : []
  return {
    ...look,
    identities,
    origins,
    widths: old ? Float32Array.from(from, (j) => old[j]) : sigmas,
    lit,
    gone: gone.filter((_, j) => !stayed.has(j)),
  }
}

/** Undefined for a first round: there all points get a label. */
function changedPoints(
  identities: Uint32Array,
  labels: Uint32Array | undefined,
  before: Scene,
): Uint8Array | undefined {
  const earlier = before.labels
  if (!labels || !earlier) return undefined
  return Uint8Array.from(labels, (label, i) => (identities[label] === before.identities[earlier[i]] ? 0 : 1))
}

function between(from: Float32Array, to: Float32Array, share: number): Float32Array {
  return share >= 1 ? to : Float32Array.from(to, (value, i) => from[i] + share * (value - from[i]))
}
