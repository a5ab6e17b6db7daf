/** What a worker does with a command, by the purpose of its run. */
import type { Device } from '../device/contract.ts'
import type { Command, Payload, RunBlob } from './messages.ts'
import { type GroupAnswer, OwnedGroups } from './owned-groups.ts'
import type { ShardedVectors } from './shard-source.ts'
import type { Traffic } from './traffic.ts'

export interface Performer {
  /** Answers as they are found; together they cover the groups of the command. */
  perform(command: Command, payload: unknown): AsyncGenerator<GroupAnswer>
  /** Forgets all state: what comes next is done from the beginning. */
  drop(): void
}

/** Rounds of a clustering. */
export class ClusterPerformer implements Performer {
  readonly #context: {
    readonly device: Device
    readonly source: ShardedVectors
    readonly blob: RunBlob
    readonly traffic: Traffic
    readonly signal: () => AbortSignal | undefined
  }
  #owned: OwnedGroups[] = []

  constructor(
    blob: RunBlob,
    device: Device,
    source: ShardedVectors,
    traffic: Traffic,
    signal: () => AbortSignal | undefined,
  ) {
    this.#context = { device, source, blob, traffic, signal }
  }

  async *perform(command: Command, payload: unknown): AsyncGenerator<GroupAnswer> {
    for (const owned of await this.#ownedFor(command)) yield owned.perform(command, payload as Payload)
  }

  drop(): void {
    for (const owned of this.#owned) owned.free()
    this.#owned = []
  }

  /** The groups of a command, in as few parts as they were opened in. */
  async #ownedFor(command: Command): Promise<OwnedGroups[]> {
    const wanted = new Set(command.groups)
    const useful = (owned: OwnedGroups): boolean =>
      owned.groups.every((group) => wanted.has(group)) && owned.canFollow(command)
    for (const owned of this.#owned) if (!useful(owned)) owned.free()
    this.#owned = this.#owned.filter(useful)
    const held = new Set(this.#owned.flatMap(({ groups }) => groups))
    const { blob } = this.#context
    const missing = command.groups.filter((group) => !held.has(group) && group < blob.groups.length)
    if (missing.length > 0) this.#owned.push(await OwnedGroups.open(this.#context, missing))
    return this.#owned
  }
}
