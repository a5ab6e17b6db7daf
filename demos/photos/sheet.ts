/** The views: one picture with sixteen of them a line. */
export const VIEW_SIDE = 160
export const VIEWS_EACH = 4
const ACROSS = 16

export async function loadSheet(root: string): Promise<HTMLImageElement> {
  const sheet = new Image()
  sheet.src = new URL('photos.jpg', root).href
  await sheet.decode()
  return sheet
}

/** Views of one scene follow each other. */
export function sceneOf(view: number): number {
  return Math.floor(view / VIEWS_EACH)
}

/** A part of a view, as large as the canvas. */
export function drawView(
  canvas: HTMLCanvasElement,
  sheet: HTMLImageElement,
  view: number,
  [x, y, side]: readonly [number, number, number] = [0, 0, VIEW_SIDE],
): CanvasRenderingContext2D {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  const [left, top] = [(view % ACROSS) * VIEW_SIDE, Math.floor(view / ACROSS) * VIEW_SIDE]
  context.clearRect(0, 0, canvas.width, canvas.height)
  context.drawImage(sheet, left + x, top + y, side, side, 0, 0, canvas.width, canvas.height)
  return context
}

/** Of so many pixels, for the list of a page. */
export function viewCanvas(
  sheet: HTMLImageElement,
  view: number,
  pixels: number,
  part?: readonly [number, number, number],
): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = pixels
  canvas.height = pixels
  // Screen readers take the name of the button around it.
  canvas.ariaHidden = 'true'
  drawView(canvas, sheet, view, part)
  return canvas
}
