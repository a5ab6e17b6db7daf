/** The vectors a command works on: a file, or the shards of a manifest. */
import { openShards, openVectors, type VectorSource } from '../index.ts'

/** With `sharded` a single file becomes shards, too. */
export function openInput(file: string, sharded = false): Promise<VectorSource> {
  if (/\.json$/i.test(file)) return openShards(file)
  return sharded ? openShards([file]) : openVectors(file)
}
