/** Cells of the nearest centre as pictures, made once for each set of centres: frames in between only copy them. */
import { voronoiCells } from './voronoi.ts'

/** The centres before and after a round. */
const KEPT = 2

interface CellPicture {
  readonly centers: Float32Array
  readonly colours: readonly string[]
  readonly side: number
  readonly canvas: OffscreenCanvas
}

export class CellPictures {
  #kept: CellPicture[] = []

  picture(centers: Float32Array, side: number, colours: readonly string[]): OffscreenCanvas {
    const found = this.#kept.find((one) => one.centers === centers && one.side === side && sameColours(one, colours))
    if (found) return found.canvas
    const canvas = new OffscreenCanvas(side, side)
    const context = canvas.getContext('2d')
    if (context) paintCells(context, centers, side, colours)
    this.#kept = [{ centers, colours, side, canvas }, ...this.#kept].slice(0, KEPT)
    return canvas
  }
}

function sameColours(one: CellPicture, colours: readonly string[]): boolean {
  return one.colours.length === colours.length && one.colours.every((colour, i) => colour === colours[i])
}

function paintCells(
  context: OffscreenCanvasRenderingContext2D,
  centers: Float32Array,
  side: number,
  colours: readonly string[],
): void {
  voronoiCells(centers).forEach((corners, i) => {
    context.fillStyle = colours[i]
    context.beginPath()
    for (let j = 0; j < corners.length; j += 2) context.lineTo(corners[j] * side, corners[j + 1] * side)
    context.fill()
  })
}
