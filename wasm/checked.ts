/**
 * Loads and stores of the checked build: every one is looked up in a map of the bytes that the running job
 * may touch, before it happens. `scripts/build-wasm.mjs` puts these in the place of the built-in ones in all
 * other files of this folder. `src/device/cpu/access-map.ts` writes the map.
 */

/** Throws. Imported from the module `checked`. */
declare function outside(address: usize, bytes: usize): void

/** The memory of the device ends here at the latest; the map has one byte for each 4 bytes. */
const MAPPED_BYTES: usize = 1 << 28

function check(address: usize, bytes: usize): void {
  // Static data lies below the map.
  if (bytes === 0 || address + bytes <= __heap_base) return
  if (address >= MAPPED_BYTES || bytes > MAPPED_BYTES - address) outside(address, bytes)
  for (let at = address >> 2; at <= (address + bytes - 1) >> 2; at++) {
    if (load<u8>(__heap_base + at) === 0) outside(address, bytes)
  }
}

export function checkedLoad<T>(address: usize, offset: usize = 0): T {
  check(address + offset, sizeof<T>())
  return load<T>(address + offset)
}

export function checkedStore<T>(address: usize, value: T, offset: usize = 0): void {
  check(address + offset, sizeof<T>())
  store<T>(address + offset, value)
}

export function checkedVector(address: usize, offset: usize = 0): v128 {
  check(address + offset, 16)
  return v128.load(address + offset)
}

export function checkedVectorStore(address: usize, value: v128, offset: usize = 0): void {
  check(address + offset, 16)
  v128.store(address + offset, value)
}

export function checkedSplat(address: usize, offset: usize = 0): v128 {
  check(address + offset, 4)
  return v128.load32_splat(address + offset)
}

export function checkedZero32(address: usize, offset: usize = 0): v128 {
  check(address + offset, 4)
  return v128.load32_zero(address + offset)
}

export function checkedZero64(address: usize, offset: usize = 0): v128 {
  check(address + offset, 8)
  return v128.load64_zero(address + offset)
}

export function checkedWiden(address: usize, offset: usize = 0): v128 {
  check(address + offset, 8)
  return v128.load8x8_u(address + offset)
}

export function checkedCopy(to: usize, from: usize, bytes: usize): void {
  check(from, bytes)
  check(to, bytes)
  memory.copy(to, from, bytes)
}

export function checkedFill(to: usize, value: u8, bytes: usize): void {
  check(to, bytes)
  memory.fill(to, value, bytes)
}

export function checkedAtomicLoad<T>(address: usize): T {
  check(address, sizeof<T>())
  return atomic.load<T>(address)
}

export function checkedAtomicStore<T>(address: usize, value: T): void {
  check(address, sizeof<T>())
  atomic.store<T>(address, value)
}

export function checkedWait<T>(address: usize, expected: T, timeout: i64): i32 {
  check(address, sizeof<T>())
  return atomic.wait<T>(address, expected, timeout)
}
