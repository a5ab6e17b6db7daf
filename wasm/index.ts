/** Everything the CPU device can run: each is fn(first item, last item, scratch, ...). */
export { sortByLabel, sumClusters, sumPieces } from './accumulate'
export { assignNearest, assignNearestMany } from './assign'
export { assignGroups } from './assign-groups'
export { assignLeaves } from './assign-leaves'
export { assignLists } from './assign-lists'
export { assignQuantized, packQuantized } from './assign-quantized'
export { codeSums } from './code-sums'
export { distanceMatrix } from './distances'
export { encode } from './encode'
export { gramSlabs, gramSum, matmulRows } from './matmul'
export { meansFromSums } from './means'
export { packCenters } from './panels'
export { growNodes } from './partition-tree'
export { project } from './project'
export { scoreQuantized } from './quantized'
export { dotsFourByTwo, measureCenters, quantizeCenters, worstError } from './quantized-rows'
export { mergeRanked, scanCodes } from './scan-codes'
export { searchTree } from './search-tree'
export { tally } from './tally'

/** First byte that no static data uses. */
export function heapBase(): usize {
  return __heap_base
}
