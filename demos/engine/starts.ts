/** Methods that are compared begin alike, where they can. */
import type { ClusterOptions, MethodName } from '../../src/index.ts'

/** Trees of clusters are their own start. */
const OWN_START: readonly MethodName[] = ['hkm', 'bisecting']

export function startFor(method: MethodName, wanted: 'random' | 'kpp' | 'auto'): NonNullable<ClusterOptions['start']> {
  return OWN_START.includes(method) ? 'auto' : wanted
}
