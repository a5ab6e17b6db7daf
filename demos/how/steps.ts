/** The steps of the explanations, in order. The id of each is its address: index.html#leaves. */
export interface Step {
  readonly id: string
  readonly topic: 'Cluster closures' | 'k-means#' | 'Cartesian k-means'
  readonly name: string
  readonly title: string
  readonly text: string
}

export const STEPS: readonly Step[] = [
  {
    id: 'leaves',
    topic: 'Cluster closures',
    name: 'neighbours',
    title: 'Points that share a leaf are neighbours',
    text: 'Random partition trees cut the points in two again and again, until at most ten are left in a leaf. Each tree cuts differently. The outlines are the leaves of the chosen point in three trees.',
  },
  {
    id: 'candidates',
    topic: 'Cluster closures',
    name: 'candidates',
    title: 'Only clusters of neighbours are candidates',
    text: "Lloyd's algorithm measures the distance to every centre. Closures measure it to the clusters that the neighbours belong to. Those cells are filled.",
  },
  {
    id: 'border',
    topic: 'Cluster closures',
    name: 'border points',
    title: 'Why only points at a border matter',
    text: 'A point whose neighbours all carry its own label has a single candidate, so it keeps its label. Points that see another cluster are drawn strong: only these cost more than one distance.',
  },
  {
    id: 'gain',
    topic: 'k-means#',
    name: 'gain of a move',
    title: 'What would a move gain?',
    text: "Lloyd's algorithm has converged here: every point is in the cluster of its nearest centre. But when a point moves, both centres move too. Counting that, some moves still lower the sum of squared distances. Circled points have such a move.",
  },
  {
    id: 'moves',
    topic: 'k-means#',
    name: 'moves',
    title: 'A point moves at once',
    text: 'k-means# does not wait for the end of a round: a point moves as soon as that lowers the sum, and both centres follow before the next point is looked at.',
  },
  {
    id: 'grid',
    topic: 'Cartesian k-means',
    name: 'grid',
    title: 'Few codewords, many centres',
    text: 'Each coordinate has five codewords, so ten numbers span a grid of 25 centres. Product quantization keeps the axes as they are. This grid does not fit groups that lie at a slant.',
  },
  {
    id: 'rotation',
    topic: 'Cartesian k-means',
    name: 'rotation',
    title: 'Turn the grid, and the error falls',
    text: 'Cartesian k-means also learns a rotation. Every round finds the nearest grid point of each vector, then the codewords, then the rotation that suits them best.',
  },
]

export function stepOf(hash: string): number {
  const found = STEPS.findIndex(({ id }) => `#${id}` === hash)
  return Math.max(0, found)
}
