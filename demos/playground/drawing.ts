/** Drawing points by mouse, finger or keys: each stroke sprays a few around its place. */
import { createRandom, type Matrix } from '../../src/index.ts'
import { MOST_POINTS } from './points.ts'

const SPRAY = 8
const WIDTH = 0.018
const KEY_STEP = 0.04
const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-KEY_STEP, 0],
  ArrowRight: [KEY_STEP, 0],
  ArrowUp: [0, -KEY_STEP],
  ArrowDown: [0, KEY_STEP],
}

export class Drawing {
  #data = new Float32Array(1024)
  #count = 0
  #random = createRandom(0)

  get points(): Matrix {
    return { data: this.#data.slice(0, 2 * this.#count), rows: this.#count, cols: 2 }
  }

  clear(): void {
    this.#count = 0
    this.#random = createRandom(0)
  }

  /** False when there is no room for more. */
  spray(x: number, y: number): boolean {
    if (this.#count + SPRAY > MOST_POINTS) return false
    if (2 * (this.#count + SPRAY) > this.#data.length) {
      const larger = new Float32Array(2 * this.#data.length)
      larger.set(this.#data)
      this.#data = larger
    }
    for (let i = 0; i < SPRAY; i++) {
      this.#data[2 * this.#count] = clamp(x + WIDTH * this.#random.normal())
      this.#data[2 * this.#count + 1] = clamp(y + WIDTH * this.#random.normal())
      this.#count++
    }
    return true
  }
}

function clamp(value: number): number {
  return Math.min(0.995, Math.max(0.005, value))
}

/** Listens on a stage: `spray` hears of places in the unit square while `active` says that drawing is on. */
export function listenForDrawing(
  room: HTMLElement,
  active: () => boolean,
  spray: (x: number, y: number) => void,
): void {
  const at = (event: PointerEvent): [number, number] => {
    const { left, top, width, height } = room.getBoundingClientRect()
    return [(event.clientX - left) / width, (event.clientY - top) / height]
  }
  room.addEventListener('pointerdown', (event) => {
    if (!active() || event.button !== 0) return
    room.setPointerCapture(event.pointerId)
    spray(...at(event))
  })
  room.addEventListener('pointermove', (event) => {
    if (!active() || !room.hasPointerCapture(event.pointerId)) return
    // The browser gathers movements between frames; the stroke should not have gaps.
    const passed = event.getCoalescedEvents()
    for (const one of passed.length > 0 ? passed : [event]) spray(...at(one))
  })
  listenForKeys(room, active, spray)
}

/** A cross that arrows move; space and enter draw at it. */
function listenForKeys(room: HTMLElement, active: () => boolean, spray: (x: number, y: number) => void): void {
  const cross = document.createElement('div')
  cross.className = 'cross'
  cross.hidden = true
  room.append(cross)
  let [x, y] = [0.5, 0.5]
  room.addEventListener('blur', () => {
    cross.hidden = true
  })
  room.addEventListener('keydown', (event) => {
    if (!active()) return
    const move = KEYS[event.key]
    const draws = event.key === ' ' || event.key === 'Enter'
    if (!move && !draws) return
    event.preventDefault()
    if (move) [x, y] = [clamp(x + move[0]), clamp(y + move[1])]
    else spray(x, y)
    cross.hidden = false
    cross.style.left = `${100 * x}%`
    cross.style.top = `${100 * y}%`
  })
}
