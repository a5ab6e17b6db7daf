/** Everything the CPU device can run: each is fn(first item, last item, scratch, ...). */
export { scoreRowsByEight, scoreRowsByFour } from './score-rows'

/** First byte that no static data uses. */
export function heapBase(): usize {
  return __heap_base
}

/** For the host: on shared memory this is seven times as fast as `fill` of a typed array. */
export function fillMemory(address: usize, value: u8, bytes: usize): void {
  memory.fill(address, value, bytes)
}
