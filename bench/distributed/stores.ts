/** Stores for measurements: the same that the tests start. */
import { startPostgres, type TestStore } from './postgres-server.ts'
import { hasRedis, startRedis } from './redis-server.ts'

/** Undefined where there is none. */
export async function openBenchStore(kind: string): Promise<TestStore | undefined> {
  if (kind === 'postgres') return startPostgres()
  return hasRedis() ? startRedis('--appendonly', 'no') : undefined
}
