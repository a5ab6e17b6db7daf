/**
 * The order in which rows are best searched: by the leaf of the tree that holds the centre they had before. Rows that
 * follow one another then measure almost the same nodes and centres, which stay in the cache.
 */

/**
 * Every row once. `labels`: the centre of each row; rows with another number come last. `leaves`: numbers of all
 * centres, leaf by leaf.
 */
export function rowsByLeaf(labels: Uint32Array, leaves: Uint32Array): Uint32Array {
  const k = leaves.length
  const placeOf = new Uint32Array(k)
  leaves.forEach((center, place) => {
    placeOf[center] = place
  })
  const place = (row: number): number => (labels[row] < k ? placeOf[labels[row]] : k)
  const next = new Uint32Array(k + 2)
  for (let row = 0; row < labels.length; row++) next[place(row) + 1]++
  for (let i = 0; i <= k; i++) next[i + 1] += next[i]
  const order = new Uint32Array(labels.length)
  for (let row = 0; row < labels.length; row++) order[next[place(row)]++] = row
  return order
}
