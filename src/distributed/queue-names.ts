/** Names of the queues of a store. */
export const LEASES = 'centroidal-leases'

export function answersOf(run: string): string {
  return `centroidal-${run}`
}

export function reductionsOf(run: string): string {
  return `centroidal-${run}-reductions`
}

export function commandsOf(run: string, worker: string): string {
  return `centroidal-${run}-${worker}`
}
