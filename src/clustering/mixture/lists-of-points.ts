/** The components that points remember, on the host: as they are kept with a model to resume from. */
import { CentroidalError } from '../../core/errors.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'

interface Rows {
  readonly first: number
  readonly count: number
}

export class ListsOfPoints {
  readonly #rows: number
  readonly #width: number
  readonly #words: Uint32Array

  constructor(rows: number, width: number) {
    this.#rows = rows
    this.#width = width
    this.#words = new Uint32Array(rows * width).fill(NO_LABEL)
  }

  /** Lists of some rows, without gaps. `names`: new numbers of the components, NO_LABEL for those that went. */
  set({ first, count }: Rows, lists: Uint32Array, names: Uint32Array | undefined): void {
    const width = this.#width
    for (let i = 0; i < count; i++) {
      let at = (first + i) * width
      for (const component of lists.subarray(i * width, (i + 1) * width)) {
        const name = component === NO_LABEL || names === undefined ? component : names[component]
        if (name !== NO_LABEL) this.#words[at++] = name
      }
    }
  }

  get({ first, count }: Rows): Uint32Array {
    return this.#words.subarray(first * this.#width, (first + count) * this.#width)
  }

  /** As few columns as hold the longest list. */
  pack(): Uint32Array {
    const width = this.#width
    let used = width
    while (used > 1 && this.#isEmpty(used - 1)) used--
    const packed = new Uint32Array(this.#rows * used)
    for (let i = 0; i < this.#rows; i++) packed.set(this.#words.subarray(i * width, i * width + used), i * used)
    return packed
  }

  /** What `pack` gave, for components below k. */
  static unpack(packed: Uint32Array, rows: number, width: number, k: number): ListsOfPoints {
    const used = packed.length / rows
    const fits = Number.isInteger(used) && used <= width
    if (!fits || !packed.every((component) => component < k || component === NO_LABEL)) {
      throw new CentroidalError(
        'bad-data',
        'The lists of components in the model to resume do not match its clusters: create the model again.',
      )
    }
    const lists = new ListsOfPoints(rows, width)
    for (let i = 0; i < rows; i++) lists.#words.set(packed.subarray(i * used, (i + 1) * used), i * width)
    return lists
  }

  #isEmpty(column: number): boolean {
    for (let at = column; at < this.#words.length; at += this.#width) if (this.#words[at] !== NO_LABEL) return false
    return true
  }
}
