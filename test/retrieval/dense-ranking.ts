/** The same ranking the plain way: every image a dense row of tf-idf, every cosine measured. */

/** counts[i] is the dense histogram of image ids[i]; ids ascend. Only images that share a word with the query are ranked. */
export function denseRanking(
  ids: readonly number[],
  counts: readonly (readonly number[])[],
  query: readonly number[],
): { images: number[]; scores: number[] } {
  const having = query.map((_, word) => counts.filter((image) => image[word] > 0).length)
  const weigh = (bag: readonly number[]): number[] => {
    const weights = bag.map((count, word) => (having[word] === 0 ? 0 : count * Math.log(counts.length / having[word])))
    const length = Math.hypot(...weights)
    return weights.map((weight) => (length === 0 ? 0 : weight / length))
  }
  const asked = weigh(query)
  const found = ids
    .map((id, i) => ({
      id,
      shares: query.some((count, word) => count > 0 && counts[i][word] > 0),
      // In single precision, as weights are kept: scores that are equal there stay equal here.
      score: weigh(counts[i]).reduce((sum, weight, word) => sum + Math.fround(weight) * asked[word], 0),
    }))
    .filter(({ shares }) => shares)
    .sort((a, b) => b.score - a.score || a.id - b.id)
  return { images: found.map(({ id }) => id), scores: found.map(({ score }) => score) }
}

export function histogram(words: ArrayLike<number>, k: number): number[] {
  const counts = new Array<number>(k).fill(0)
  for (let i = 0; i < words.length; i++) counts[words[i]]++
  return counts
}
