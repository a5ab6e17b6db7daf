/** Everything the CPU device can run: each is fn(first item, last item, scratch, ...). */
export { sortByLabel, sumClusters, sumPieces } from './accumulate'
export { softClusters, softPieces } from './accumulate-soft'
export { assignNearest, assignNearestMany } from './assign'
export { assignGroups } from './assign-groups'
export { assignLeaves } from './assign-leaves'
export { assignLists } from './assign-lists'
export { assignQuantized, packQuantized } from './assign-quantized'
export { distanceMatrix } from './distances'
export { encode } from './encode'
export { expandComponents } from './expand'
export { gramSlabs, gramSum, matmulRows } from './matmul'
export { meansFromSums } from './means'
export { packCenters } from './panels'
export { growNodes } from './partition-tree'
export { project } from './project'
export { scoreQuantized } from './quantized'
export { dotsFourByTwo, measureCenters, quantizeCenters, worstError } from './quantized-rows'
export { respondAll, respondLists } from './respond'
export { searchTree } from './search-tree'
export { sharesOfAll, sharesOfLists } from './shares'
export { tally } from './tally'

/** First byte that no static data uses. */
export function heapBase(): usize {
  return __heap_base
}
