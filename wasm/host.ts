/** What the host calls besides kernels, and functions that are exported so that the compiler does not inline them. */
export { scoreRowByPanels, scoreRowsByEight, scoreRowsByFour } from './score-rows'

/** First byte that no static data uses. */
export function heapBase(): usize {
  return __heap_base
}

/** For the host: on shared memory this is seven times as fast as `fill` of a typed array. */
export function fillMemory(address: usize, value: u8, bytes: usize): void {
  memory.fill(address, value, bytes)
}
