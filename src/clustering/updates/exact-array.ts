/** Exact sums on a device: rows of `width` numbers. */
import type { DeviceBuffer } from '../../device/contract.ts'
import { addExact, exactBytes, exactExponent, exactToFloats } from '../../kernels/exact-sums.ts'
import type { RunState } from '../run-state.ts'

export class ExactArray {
  readonly #state: RunState
  readonly #words: DeviceBuffer
  readonly #shape: { readonly rows: number; readonly width: number; readonly exponent: number }

  /** No sum exceeds `bound`. */
  constructor(state: RunState, rows: number, width: number, bound: number) {
    this.#state = state
    this.#words = state.scope.allocate(exactBytes(rows, width), 'exact sums')
    this.#shape = { rows, width, exponent: exactExponent(bound) }
  }

  clear(): void {
    this.#state.device.clear(this.#words)
  }

  /** Rows whose count is 0 are left out. */
  add(values: DeviceBuffer, counts?: DeviceBuffer): Promise<void> {
    return addExact(this.#state.device, { ...this.#shape, values, counts, into: this.#words })
  }

  async read(): Promise<Uint32Array> {
    const { rows, width } = this.#shape
    const bytes = exactBytes(rows, width)
    return new Uint32Array(await this.#state.device.read({ buffer: this.#words, offset: 0, bytes }))
  }

  write(words: Uint32Array): void {
    this.#state.device.write(this.#words, words)
  }

  toFloats(out: DeviceBuffer): Promise<void> {
    return exactToFloats(this.#state.device, { ...this.#shape, from: this.#words, out })
  }
}
