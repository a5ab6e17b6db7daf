/** Removing what a run left in a store. */

import { LEASES } from './queue-names.ts'
import type { Queues } from './queues.ts'
import type { BlobStore } from './store.ts'

/** Leases have numbers; there are at most this many groups in a run. */
export const MOST_GROUPS = 48

export async function removeRun(
  store: BlobStore,
  queues: Queues,
  run: string,
  names: readonly string[],
): Promise<void> {
  const leases = Array.from({ length: MOST_GROUPS }, (_, group) => `${run}-${group}`)
  await queues.withdraw(LEASES, leases)
  for (const name of names) await queues.remove(name)
  await store.forget(run)
}
