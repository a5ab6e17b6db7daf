/**
 * Random choices of a case. They depend on the area, the seed and the number of the case alone, so that a case can be
 * run again by itself. The library's own generator is not used: the tester must not share its faults.
 */
export class Draw {
  readonly #state: Uint32Array

  constructor(area: string, seed: number, number: number) {
    this.#state = Uint32Array.of(hash(area, 1), hash(String(seed), 2), hash(String(number), 3), 1)
    for (let i = 0; i < 12; i++) this.word()
  }

  /** 32 random bits (sfc32). */
  word(): number {
    const s = this.#state
    const sum = (s[0] + s[1] + s[3]) >>> 0
    s[3]++
    s[0] = s[1] ^ (s[1] >>> 9)
    s[1] = s[2] + (s[2] << 3)
    s[2] = ((s[2] << 21) | (s[2] >>> 11)) + sum
    return sum
  }

  /** 0 to below 1. */
  real(): number {
    return (this.word() * 2 ** 21 + (this.word() >>> 11)) / 2 ** 53
  }

  /** 0 to bound - 1. */
  below(bound: number): number {
    return Math.floor(this.real() * bound)
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.real() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.real())) * Math.cos(2 * Math.PI * this.real())
  }

  bytes(count: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: count }, () => this.word() & 255)
  }

  /** A number of any magnitude, often a special one. */
  number(): number {
    const special = [0, -0, 1, -1, 0.5, 2, 255, 256, 65536, 2 ** 31, 2 ** 32, 2 ** 53, 1e38, 1e308, 1e-45, -1e-45]
    if (this.chance(0.6)) return this.pick([...special, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    return this.normal() * 10 ** this.between(-40, 40)
  }

  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      ;[items[i], items[j]] = [items[j], items[i]]
    }
    return items
  }
}

function hash(text: string, salt: number): number {
  let value = Math.imul(salt, 0x9e3779b9) ^ 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
