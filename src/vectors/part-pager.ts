/**
 * Labels and distances of the parts that one device owns. They stay on the device; or, where memory is limited, those of one
 * part are on the device and those of the others in a temporary file.
 */
import { BufferScope, type Device } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { PointPart } from './point-part.ts'
import { readInto, type Spill } from './spill.ts'

/** Which values of a part are in the file; the others are as they were at first. */
interface Place {
  readonly at: number
  readonly written: [boolean, boolean, boolean]
}

const DISTANCES = 2

export class PartPager {
  readonly #device: Device
  readonly #parts: readonly PointPart[]
  readonly #scope: BufferScope
  readonly #spill: Spill | undefined
  readonly #places = new Map<PointPart, Place>()
  /** Called before another part is loaded. */
  readonly #leave: () => Promise<void>
  #loaded: PointPart | undefined
  /** One after the other: what is asked for first is loaded first. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    device: Device,
    parts: readonly PointPart[],
    spill: Spill | undefined,
    leave: () => Promise<void> = async () => {},
  ) {
    this.#device = device
    this.#parts = parts
    this.#scope = new BufferScope(device)
    this.#spill = spill
    this.#leave = leave
    if (spill) return
    for (const part of parts) part.load(this.#scope)
    this.forgetLabels()
  }

  /** Labels and distances of the part are on the device when it returns, until another part is asked for. */
  load(part: PointPart): Promise<void> {
    return this.#inTurn(() => this.#load(part))
  }

  /** What `values[which]` of a part holds, as bytes. */
  #read(part: PointPart, which: number, into: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      if (part.loaded) {
        const { buffer, offset, bytes } = { buffer: part.values[which], offset: 0, bytes: into.length }
        await readInto(this.#device, { buffer, offset, bytes }, into)
        return
      }
      const { at, written } = this.#placeOf(part)
      if (written[which]) await this.#spill?.read(into, at + which * part.valueBytes)
      else if (which !== DISTANCES) into.fill(NO_LABEL_BYTE)
    })
  }

  /** Current labels of a part. */
  readLabels(part: PointPart, into: Uint32Array): Promise<void> {
    return this.#read(part, part.turn, bytesOf(into))
  }

  readDistances(part: PointPart, into: Float32Array): Promise<void> {
    return this.#read(part, DISTANCES, bytesOf(into))
  }

  writeLabels(part: PointPart, labels: Uint32Array): Promise<void> {
    return this.#inTurn(async () => {
      if (part.loaded) {
        this.#device.write(part.labels, labels)
        return
      }
      const { at, written } = this.#placeOf(part)
      await this.#spill?.write(bytesOf(labels), at + part.turn * part.valueBytes)
      written[part.turn] = true
    })
  }

  /** As before the first round: no point has a label. */
  forgetLabels(): void {
    for (const part of this.#parts) {
      if (part.loaded) this.#device.write(part.labels, new Uint32Array(part.valueBytes / 4).fill(NO_LABEL))
      else this.#placeOf(part).written[part.turn] = false
    }
  }

  free(): void {
    this.#scope.free()
    for (const part of this.#parts) part.unload()
  }

  async #load(part: PointPart): Promise<void> {
    if (part.loaded || this.#spill === undefined) return
    await this.#leave()
    await this.#putAway(this.#spill)
    part.load(this.#scope)
    this.#loaded = part
    const { at, written } = this.#placeOf(part)
    for (const [which, buffer] of part.values.entries()) {
      if (written[which]) await this.#spill.fetch(this.#device, buffer, at + which * part.valueBytes)
      else if (which !== DISTANCES) this.#device.write(buffer, new Uint32Array(part.valueBytes / 4).fill(NO_LABEL))
    }
  }

  /** The part that is loaded goes to the file. */
  async #putAway(spill: Spill): Promise<void> {
    const part = this.#loaded
    if (part === undefined) return
    const place = this.#placeOf(part)
    for (const [which, buffer] of part.values.entries()) {
      await spill.save(this.#device, buffer, place.at + which * part.valueBytes)
      place.written[which] = true
    }
    this.#loaded = undefined
    this.#scope.free()
    part.unload()
  }

  #placeOf(part: PointPart): Place {
    let place = this.#places.get(part)
    if (place === undefined) {
      place = { at: this.#spill?.allocate(3 * part.valueBytes) ?? 0, written: [false, false, false] }
      this.#places.set(part, place)
    }
    return place
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** Every byte of NO_LABEL. */
const NO_LABEL_BYTE = 255

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
