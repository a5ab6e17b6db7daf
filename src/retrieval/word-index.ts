/**
 * For every word, the images that contain it, with its tf-idf weight; the weights of an image are normalised to length one.
 * Rebuilt when images are added or removed, because this changes all weights. A query reads only the images of its words.
 */
import type { Bag } from './bags.ts'

/** Images found for a query. */
export interface Ranking {
  /** Image numbers, best first; equal scores in ascending order. Images that share no word with the query are not listed. */
  readonly images: Uint32Array
  /** Cosine of the angle to the query, 0 to 1. */
  readonly scores: Float64Array
}

export class WordIndex {
  readonly #ids: Uint32Array
  /** Inverse document frequency of a word: ln(images / images that contain it). */
  readonly #idf: Float64Array
  readonly #offsets: Uint32Array
  readonly #slots: Uint32Array
  readonly #weights: Float32Array
  /** Scores of all images, zero between queries. */
  readonly #scores: Float64Array

  /** Images in ascending order of their numbers, so that equal scores come out in that order. */
  constructor(ids: Uint32Array, bags: readonly Bag[], vocabulary: number) {
    const offsets = new Uint32Array(vocabulary + 1)
    for (const { words } of bags) for (const word of words) offsets[word + 1]++
    const idf = new Float64Array(vocabulary)
    for (let word = 0; word < vocabulary; word++) {
      const having = offsets[word + 1]
      idf[word] = having === 0 ? 0 : Math.log(bags.length / having)
      offsets[word + 1] += offsets[word]
    }
    const slots = new Uint32Array(offsets[vocabulary])
    const weights = new Float32Array(offsets[vocabulary])
    const next = offsets.slice()
    bags.forEach((bag, slot) => {
      const weighed = tfIdf(bag, idf)
      bag.words.forEach((word, i) => {
        slots[next[word]] = slot
        weights[next[word]++] = weighed[i]
      })
    })
    this.#ids = ids
    this.#idf = idf
    this.#offsets = offsets
    this.#slots = slots
    this.#weights = weights
    this.#scores = new Float64Array(ids.length)
  }

  /** Best first, at most `top`. */
  rank(query: Bag, top: number): Ranking {
    const scores = this.#scores
    const met = new Set<number>()
    const weighed = tfIdf(query, this.#idf)
    query.words.forEach((word, i) => {
      for (let at = this.#offsets[word]; at < this.#offsets[word + 1]; at++) {
        met.add(this.#slots[at])
        scores[this.#slots[at]] += weighed[i] * this.#weights[at]
      }
    })
    const order = [...met].sort((a, b) => scores[b] - scores[a] || a - b)
    const best = order.slice(0, top)
    const ranking = {
      images: Uint32Array.from(best, (slot) => this.#ids[slot]),
      // Rounding can leave the last digit above 1.
      scores: Float64Array.from(best, (slot) => Math.min(1, scores[slot])),
    }
    for (const slot of order) scores[slot] = 0
    return ranking
  }
}

/** The weights of the words of a bag, normalised to length one; all 0 if every word has weight 0. */
function tfIdf({ words, counts }: Bag, idf: Float64Array): Float64Array {
  const weights = Float64Array.from(words, (word, i) => counts[i] * idf[word])
  const length = Math.sqrt(weights.reduce((sum, weight) => sum + weight * weight, 0))
  return length === 0 ? weights : weights.map((weight) => weight / length)
}
