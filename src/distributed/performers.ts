/** What a worker does with a command, by the purpose of its run. */
import type { Command, Payload } from './messages.ts'
import { type GroupAnswer, OwnedGroups, type OwnerContext } from './owned-groups.ts'

export interface Performer {
  /** Answers as they are found; together they cover the groups of the command. */
  perform(command: Command, payload: unknown): AsyncGenerator<GroupAnswer>
  /** Forgets all state: what comes next is done from the beginning. */
  drop(): void
}

/** Rounds of a clustering. */
export class ClusterPerformer implements Performer {
  readonly #context: OwnerContext
  #owned: OwnedGroups[] = []

  constructor(context: OwnerContext) {
    this.#context = context
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
