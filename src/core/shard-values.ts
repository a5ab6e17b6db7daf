/** Numbers that each shard has one of. They are kept apart until all are there, and then added in the order of the shards. */
export interface ShardValue {
  readonly shard: number
  readonly value: number
}

/** The sum in the order of the shards. */
export function sumOf(values: readonly ShardValue[]): number {
  return [...values].sort((a, b) => a.shard - b.shard).reduce((sum, { value }) => sum + value, 0)
}
