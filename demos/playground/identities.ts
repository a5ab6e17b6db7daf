/**
 * Which cluster of a round is which cluster of the round before. Methods with a fixed k keep their numbers; mixtures
 * drop components and number the rest anew, so there each takes the identity of the nearest one before. Colours and
 * movements follow identities.
 */
export interface Identified {
  readonly centers: Float32Array
  /** One for each centre. */
  readonly identities: Uint32Array
}

export function firstIdentities(k: number): Uint32Array {
  return Uint32Array.from({ length: k }, (_, i) => i)
}

export function followIdentities(before: Identified, centers: Float32Array): Uint32Array {
  const k = centers.length / 2
  if (before.identities.length === k) return before.identities
  const taken = new Set<number>()
  return Uint32Array.from({ length: k }, (_, i) => {
    const j = nearestFree(before.centers, centers[2 * i], centers[2 * i + 1], taken)
    taken.add(j)
    return before.identities[j]
  })
}

function nearestFree(centers: Float32Array, x: number, y: number, taken: ReadonlySet<number>): number {
  let best = -1
  let least = Number.POSITIVE_INFINITY
  for (let j = 0; j < centers.length / 2; j++) {
    const distance = (centers[2 * j] - x) ** 2 + (centers[2 * j + 1] - y) ** 2
    if (distance < least && !taken.has(j)) {
      least = distance
      best = j
    }
  }
  return best
}
