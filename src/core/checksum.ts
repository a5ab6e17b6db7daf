/**
 * MurmurHash3 x86_128 (Austin Appleby, public domain), in pieces: 128 bits over every byte of a file.
 *
 * It detects accidental damage; it is no signature. A block of 16 bytes changes the state one-to-one, so damage within
 * one block is always detected. It needs only 32-bit products, which JavaScript has in every page: crypto.subtle is
 * missing on pages that are not secure, and cannot hash in pieces.
 */

const BLOCK = 16
const C1 = 0x239b961b
const C2 = 0xab0e9789
const C3 = 0x38b34ae5
const C4 = 0xa1e38b93

export class Checksum {
  readonly #state = new Int32Array(4)
  /** Bytes of an unfinished block. */
  readonly #rest = new Uint8Array(BLOCK)
  #waiting = 0
  #bytes = 0

  update(bytes: Uint8Array): this {
    this.#bytes += bytes.length
    let at = 0
    if (this.#waiting > 0) {
      at = Math.min(BLOCK - this.#waiting, bytes.length)
      this.#rest.set(bytes.subarray(0, at), this.#waiting)
      this.#waiting += at
      if (this.#waiting < BLOCK) return this
      mixBlocks(this.#state, new Int32Array(this.#rest.buffer))
      this.#waiting = 0
    }
    const whole = bytes.length - ((bytes.length - at) % BLOCK)
    if (whole > at) mixBlocks(this.#state, wordsOf(bytes.subarray(at, whole)))
    this.#rest.set(bytes.subarray(whole))
    this.#waiting = bytes.length - whole
    return this
  }

  /** 32 hexadecimal digits. The checksum can go on afterwards. */
  digest(): string {
    const h = Int32Array.from(this.#state)
    if (this.#waiting > 0) {
      const tail = new Uint8Array(BLOCK)
      tail.set(this.#rest.subarray(0, this.#waiting))
      const [k1, k2, k3, k4] = new Int32Array(tail.buffer)
      h[0] ^= Math.imul(rotated(Math.imul(k1, C1), 15), C2)
      h[1] ^= Math.imul(rotated(Math.imul(k2, C2), 16), C3)
      h[2] ^= Math.imul(rotated(Math.imul(k3, C3), 17), C4)
      h[3] ^= Math.imul(rotated(Math.imul(k4, C4), 18), C1)
    }
    for (let i = 0; i < 4; i++) h[i] ^= this.#bytes
    h[0] += h[1] + h[2] + h[3]
    for (let i = 1; i < 4; i++) h[i] += h[0]
    for (let i = 0; i < 4; i++) h[i] = finished(h[i])
    h[0] += h[1] + h[2] + h[3]
    for (let i = 1; i < 4; i++) h[i] += h[0]
    return Array.from(h, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }
}

export function checksumOf(...parts: readonly Uint8Array[]): string {
  const checksum = new Checksum()
  for (const part of parts) checksum.update(part)
  return checksum.digest()
}

function wordsOf(bytes: Uint8Array): Int32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4)
}

function mixBlocks(state: Int32Array, words: Int32Array): void {
  let [h1, h2, h3, h4] = state
  for (let i = 0; i < words.length; i += 4) {
    let k = Math.imul(words[i], C1)
    h1 ^= Math.imul((k << 15) | (k >>> 17), C2)
    h1 = ((h1 << 19) | (h1 >>> 13)) + h2
    h1 = (Math.imul(h1, 5) + 0x561ccd1b) | 0
    k = Math.imul(words[i + 1], C2)
    h2 ^= Math.imul((k << 16) | (k >>> 16), C3)
    h2 = ((h2 << 17) | (h2 >>> 15)) + h3
    h2 = (Math.imul(h2, 5) + 0x0bcaa747) | 0
    k = Math.imul(words[i + 2], C3)
    h3 ^= Math.imul((k << 17) | (k >>> 15), C4)
    h3 = ((h3 << 15) | (h3 >>> 17)) + h4
    h3 = (Math.imul(h3, 5) + 0x96cd1c35) | 0
    k = Math.imul(words[i + 3], C4)
    h4 ^= Math.imul((k << 18) | (k >>> 14), C1)
    h4 = ((h4 << 13) | (h4 >>> 19)) + h1
    h4 = (Math.imul(h4, 5) + 0x32ac3b17) | 0
  }
  state.set([h1, h2, h3, h4])
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

function finished(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
