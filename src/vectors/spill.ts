/** A temporary file for what of the points does not fit in memory. */
import type { ScratchFile } from '../core/bytes.ts'
import { type BufferPart, type Device, type DeviceBuffer, partOf } from '../device/contract.ts'

/** Bytes that are moved between a device and the file at a time. */
const PIECE = 2 ** 22

export class Spill {
  readonly #file: ScratchFile
  #end = 0
  /** Memory that pieces go through; more than one only where several are moved at the same time. */
  readonly #spare: Uint8Array[] = []

  constructor(file: ScratchFile) {
    this.#file = file
  }

  /** Room for so many bytes that nothing else has. It is never given back: a run asks for the same rooms again and again. */
  allocate(bytes: number): number {
    const at = this.#end
    this.#end += bytes
    return at
  }

  write(bytes: Uint8Array, at: number): Promise<void> {
    return this.#file.write(bytes, at)
  }

  read(bytes: Uint8Array, at: number): Promise<void> {
    return this.#file.read(bytes, at)
  }

  /** All bytes of a buffer into the file. */
  save(device: Device, buffer: DeviceBuffer, at: number): Promise<void> {
    return this.#inPieces(buffer, async (bytes, offset) => {
      await readInto(device, { buffer, offset, bytes: bytes.length }, bytes)
      await this.#file.write(bytes, at + offset)
    })
  }

  /** And back. */
  fetch(device: Device, buffer: DeviceBuffer, at: number): Promise<void> {
    return this.#inPieces(buffer, async (bytes, offset) => {
      await this.#file.read(bytes, at + offset)
      device.write(buffer, bytes, offset)
    })
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  async #inPieces({ bytes }: DeviceBuffer, move: (piece: Uint8Array, offset: number) => Promise<void>): Promise<void> {
    const memory = this.#spare.pop() ?? new Uint8Array(PIECE)
    for (let offset = 0; offset < bytes; offset += PIECE) {
      await move(memory.subarray(0, Math.min(PIECE, bytes - offset)), offset)
    }
    this.#spare.push(memory)
  }
}

/** What a device holds, in memory of the caller: no garbage is left where the device can do that. */
export async function readInto(device: Device, part: DeviceBuffer | BufferPart, into: Uint8Array): Promise<void> {
  if (device.readInto) await device.readInto(part, into)
  else into.set(new Uint8Array(await device.read(part), 0, partOf(part).bytes))
}
