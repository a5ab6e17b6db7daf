/**
 * Parameter blocks of passes: one small uniform buffer, written anew before each submit. The queue
 * keeps writes and submits in order, so the same bytes can serve every submit.
 */
const SLOT = 256
const SLOTS = 256

export class UniformRing {
  readonly #device: GPUDevice
  readonly #buffer: GPUBuffer
  readonly #words = new Uint32Array((SLOT * SLOTS) / 4)

  constructor(device: GPUDevice) {
    this.#device = device
    this.#buffer = device.createBuffer({
      label: 'parameters',
      size: SLOT * SLOTS,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    })
  }

  isFull(passes: number): boolean {
    return passes >= SLOTS
  }

  /** Writes the blocks and says at which byte each begins. */
  write(blocks: readonly (readonly number[])[]): number[] {
    blocks.forEach((block, index) => {
      this.#words.set(block, (index * SLOT) / 4)
    })
    this.#device.queue.writeBuffer(this.#buffer, 0, this.#words, 0, (blocks.length * SLOT) / 4)
    return blocks.map((_, index) => index * SLOT)
  }

  binding(offset: number, words: number): GPUBufferBinding {
    return { buffer: this.#buffer, offset, size: Math.ceil(words / 4) * 16 }
  }
}
