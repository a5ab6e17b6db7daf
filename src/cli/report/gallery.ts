/** The centres as pictures, for vectors that are images. */
import type { ElementType } from '../../index.ts'
import { count, number, percent } from '../format.ts'
import type { ImageShape } from '../option-values.ts'
import type { ClusterRun } from '../run-folder.ts'
import { html, Markup } from './markup.ts'
import { encodeGrayPng } from './png.ts'

/** A page people mail around should not be larger than a photograph. */
const LARGEST_GALLERY = 780_000
/** Pixels across, about: each image is enlarged by a whole factor, so that its pixels stay square and sharp. */
const TILE = 76
const SMALL_TILE = 52
const MANY = 250

/** In the order given, which is by size; as many as fit. */
export function gallery(run: ClusterRun, { width, height }: ImageShape, order: readonly number[]): Markup {
  const { centers, sizes, notes } = run
  const { confusion } = notes
  const grey = greyScale(centers.data, notes.elements)
  const items: Markup[] = []
  let spent = 0
  for (const cluster of order) {
    const pixels = grey(centers.data.subarray(cluster * centers.cols, (cluster + 1) * centers.cols))
    const source = encodeGrayPng(pixels, width, height).toString('base64')
    spent += source.length + 200
    if (spent > LARGEST_GALLERY && items.length > 0) break
    const size = sizes?.[cluster] ?? 0
    const most = confusion && size > 0 ? confusion.majority[cluster] : undefined
    const name = most && confusion?.classes[most.index]
    const alt = `Centre of cluster ${cluster}: ${count(size, 'point')}${most ? `, ${percent(most.share)} of them class ${name}` : ''}`
    items.push(
      html`<li><img alt="${alt}" width="${width}" height="${height}" src="data:image/png;base64,${new Markup(source)}">${
        most ? html`<b>${name}</b> ${percent(most.share)}<br>` : undefined
      }<span class="soft">${number(size)}</span></li>`,
    )
  }
  const left = order.length - items.length
  return html`<section><h2>Centres</h2>
<p class="soft">The mean of each cluster as an image, largest cluster first${
    confusion ? ', with its most frequent class and that class’s share' : ''
  }; the number below counts its points.${left > 0 ? ` ${count(left, 'smaller cluster')} left out to keep this page small.` : ''}</p>
<ol class="gallery">${items}</ol></section>`
}

/** CSS for the size at which the images are shown. */
export function galleryStyle({ width }: ImageShape, images: number): string {
  const tile = Math.max(1, Math.round((images > MANY ? SMALL_TILE : TILE) / width)) * width
  return `.gallery { --tile: ${tile}px; }\n`
}

/** Bytes are what they are; other numbers are stretched from black (zero, or the least if that is below) to white. */
function greyScale(
  values: ArrayLike<number>,
  elements: ElementType | undefined,
): (values: ArrayLike<number>) => Uint8Array {
  let low = 0
  let high = elements === 'u8' ? 255 : 0
  if (elements !== 'u8') {
    for (let i = 0; i < values.length; i++) {
      if (values[i] < low) low = values[i]
      if (values[i] > high) high = values[i]
    }
  }
  const factor = high > low ? 255 / (high - low) : 0
  return (pixels) => Uint8Array.from(pixels, (value) => Math.round(Math.min(255, Math.max(0, (value - low) * factor))))
}
