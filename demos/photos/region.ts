/** A part of a view: chosen by dragging over it, or from a list. In pixels of the view. */
import { VIEW_SIDE } from './sheet.ts'

export interface Region {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

const HALF = VIEW_SIDE / 2
const QUARTER = VIEW_SIDE / 4
export const REGIONS: Readonly<Record<string, Region>> = {
  'the whole picture': { left: 0, top: 0, right: VIEW_SIDE, bottom: VIEW_SIDE },
  'its middle': { left: QUARTER, top: QUARTER, right: VIEW_SIDE - QUARTER, bottom: VIEW_SIDE - QUARTER },
  'left half': { left: 0, top: 0, right: HALF, bottom: VIEW_SIDE },
  'right half': { left: HALF, top: 0, right: VIEW_SIDE, bottom: VIEW_SIDE },
  'upper half': { left: 0, top: 0, right: VIEW_SIDE, bottom: HALF },
  'lower half': { left: 0, top: HALF, right: VIEW_SIDE, bottom: VIEW_SIDE },
}
const LEAST = 8

/** Descriptors of a view whose middle lies in a region. */
export function rowsIn(views: Uint32Array, places: Float32Array, view: number, region: Region): Uint32Array {
  const rows: number[] = []
  for (let row = views.indexOf(view); row >= 0 && views[row] === view; row++) {
    const [x, y] = [places[3 * row], places[3 * row + 1]]
    if (x >= region.left && x <= region.right && y >= region.top && y <= region.bottom) rows.push(row)
  }
  return Uint32Array.from(rows)
}

/** Dragging over the picture; a press without dragging is the whole of it. */
export function listenForRegion(canvas: HTMLCanvasElement, onRegion: (region: Region, done: boolean) => void): void {
  let start: readonly [number, number] | undefined
  const at = ({ clientX, clientY }: PointerEvent): readonly [number, number] => {
    const { left, top, width } = canvas.getBoundingClientRect()
    const inside = (value: number): number => Math.min(VIEW_SIDE, Math.max(0, (value * VIEW_SIDE) / width))
    return [inside(clientX - left), inside(clientY - top)]
  }
  const regionTo = ([x, y]: readonly [number, number]): Region => {
    const [a, b] = start ?? [x, y]
    const region = { left: Math.min(a, x), top: Math.min(b, y), right: Math.max(a, x), bottom: Math.max(b, y) }
    const small = region.right - region.left < LEAST || region.bottom - region.top < LEAST
    return small ? REGIONS['the whole picture'] : region
  }
  canvas.addEventListener('pointerdown', (event) => {
    start = at(event)
    canvas.setPointerCapture(event.pointerId)
  })
  canvas.addEventListener('pointermove', (event) => {
    if (start) onRegion(regionTo(at(event)), false)
  })
  canvas.addEventListener('pointerup', (event) => {
    if (!start) return
    const region = regionTo(at(event))
    start = undefined
    onRegion(region, true)
  })
}
