/**
 * Turns at something that threads change one after the other. Items are taken in order, so that whoever is waited for is at
 * work already; without threads every turn has come when it is asked for.
 */

/** Looks at the memory this often before the thread sleeps. */
const LOOKS: u32 = 2000
/** There is no wake-up: a sleeping thread checks again after this many nanoseconds. */
const SLEEP: i64 = 50000

/** Returns when the word at the address, which only rises, is `turn`. */
export function waitForTurn(address: usize, turn: u32): void {
  if (!ASC_FEATURE_THREADS) return
  let looks: u32 = 0
  while (true) {
    const now = atomic.load<u32>(address)
    if (now === turn) return
    if (++looks < LOOKS) continue
    atomic.wait<u32>(address, now, SLEEP)
  }
}

export function passTurn(address: usize, next: u32): void {
  if (ASC_FEATURE_THREADS) atomic.store<u32>(address, next)
  else store<u32>(address, next)
}
