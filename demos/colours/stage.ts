/** The picture before and after, one over the other, with a divider that moves. */
import { element } from '../shell/dom.ts'
import { type Picture, paint } from './picture.ts'

export interface Stage {
  before(picture: Picture, name: string): void
  after(indices: Uint8Array, palette: Uint8Array): void
}

export function openStage(): Stage {
  const stage = element('stage')
  const split = element('split', HTMLInputElement)
  const [before, after] = [element('before', HTMLCanvasElement), element('after', HTMLCanvasElement)]
  const divide = (): void => stage.style.setProperty('--split', `${split.value}%`)
  split.addEventListener('input', divide)
  const follow = ({ clientX, buttons }: PointerEvent): void => {
    if (buttons === 0) return
    const { left, width } = stage.getBoundingClientRect()
    split.value = String(Math.round((100 * (clientX - left)) / width))
    divide()
  }
  stage.addEventListener('pointerdown', (event) => {
    stage.setPointerCapture(event.pointerId)
    follow(event)
  })
  stage.addEventListener('pointermove', follow)
  divide()

  const put = (canvas: HTMLCanvasElement, { width, height, data }: Picture): void => {
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width
      canvas.height = height
    }
    canvas.getContext('2d')?.putImageData(new ImageData(data as Uint8ClampedArray<ArrayBuffer>, width, height), 0, 0)
  }
  return {
    before(picture, name) {
      put(before, picture)
      put(after, picture)
      before.setAttribute('aria-label', `The original: ${name}`)
    },
    after(indices, palette) {
      const { width, height } = before
      put(after, { width, height, data: paint(indices, palette) })
      after.setAttribute('aria-label', `The same picture in ${palette.length / 3} colours`)
    },
  }
}
