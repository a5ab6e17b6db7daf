/** Finds the point nearest to a place: points by the cells of a grid. */

const POINTS_EACH = 4

export class PointGrid {
  readonly #points: Float32Array
  readonly #from: readonly [number, number]
  readonly #cell: readonly [number, number]
  readonly #side: number
  /** Points of a cell: members from its offset to the next. */
  readonly #offsets: Uint32Array
  readonly #members: Uint32Array

  constructor(points: Float32Array) {
    this.#points = points
    const n = points.length / 2
    this.#side = Math.max(1, Math.floor(Math.sqrt(n / POINTS_EACH)))
    const low: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    const high = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let i = 0; i < points.length; i++) {
      low[i & 1] = Math.min(low[i & 1], points[i])
      high[i & 1] = Math.max(high[i & 1], points[i])
    }
    this.#from = low
    this.#cell = [(high[0] - low[0]) / this.#side || 1, (high[1] - low[1]) / this.#side || 1]
    const cells = new Uint32Array(n)
    this.#offsets = new Uint32Array(this.#side * this.#side + 1)
    for (let i = 0; i < n; i++) {
      cells[i] = this.#index(points[2 * i], 0) + this.#side * this.#index(points[2 * i + 1], 1)
      this.#offsets[cells[i] + 1]++
    }
    for (let c = 1; c < this.#offsets.length; c++) this.#offsets[c] += this.#offsets[c - 1]
    const next = this.#offsets.slice()
    this.#members = new Uint32Array(n)
    for (let i = 0; i < n; i++) this.#members[next[cells[i]]++] = i
  }

  /** Of those within `reachX` and `reachY`, measured in these. */
  nearest(x: number, y: number, reachX: number, reachY: number): number | undefined {
    let best: number | undefined
    let least = 1
    const [left, right] = [this.#index(x - reachX, 0), this.#index(x + reachX, 0)]
    const [top, bottom] = [this.#index(y - reachY, 1), this.#index(y + reachY, 1)]
    for (let row = top; row <= bottom; row++) {
      const [from, to] = [this.#offsets[row * this.#side + left], this.#offsets[row * this.#side + right + 1]]
      for (let at = from; at < to; at++) {
        const i = this.#members[at]
        const distance = ((this.#points[2 * i] - x) / reachX) ** 2 + ((this.#points[2 * i + 1] - y) / reachY) ** 2
        if (distance < least) {
          least = distance
          best = i
        }
      }
    }
    return best
  }

  #index(value: number, axis: 0 | 1): number {
    const at = Math.floor((value - this.#from[axis]) / this.#cell[axis])
    return Math.min(this.#side - 1, Math.max(0, at))
  }
}
