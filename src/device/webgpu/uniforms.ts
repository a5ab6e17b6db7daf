/**
 * Parameter blocks of passes: one small uniform buffer, rewritten before each submit and bound with dynamic offsets. The
 * queue keeps writes and submits in order, so the same bytes can serve every submit.
 */
const SLOT = 256
const SLOTS = 1024

export class UniformRing {
  readonly #device: GPUDevice
  readonly #buffer: GPUBuffer
  readonly #words = new Uint32Array((SLOT * SLOTS) / 4)
  #used = 0

  constructor(device: GPUDevice) {
    this.#device = device
    this.#buffer = device.createBuffer({
      label: 'parameters',
      size: SLOT * SLOTS,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    })
  }

  /** Blocks there is room for before the next `write`. */
  get room(): number {
    return SLOTS - this.#used
  }

  /** Takes a block for the next submit; the result is its dynamic offset. */
  add(block: readonly number[]): number {
    if (block.length > SLOT / 4)
      throw new RangeError(`A pass has ${block.length} parameters, and at most ${SLOT / 4} fit`)
    const offset = this.#used * SLOT
    this.#words.set(block, offset / 4)
    this.#used++
    return offset
  }

  /** Writes the blocks that were added. */
  write(): void {
    if (this.#used > 0) this.#device.queue.writeBuffer(this.#buffer, 0, this.#words, 0, (this.#used * SLOT) / 4)
    this.#used = 0
  }

  /** What a bind group holds: one block, wherever the dynamic offset says. */
  get binding(): GPUBufferBinding {
    return { buffer: this.#buffer, size: SLOT }
  }

  destroy(): void {
    this.#buffer.destroy()
  }
}
