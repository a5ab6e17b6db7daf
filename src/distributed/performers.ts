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
  readonly #context: OwnerContext & { readonly held: (group: number) => boolean }
  #owned: OwnedGroups[] = []

  constructor(context: OwnerContext & { readonly held: (group: number) => boolean }) {
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
    const { blob, held } = this.#context
    const wanted = new Set(command.groups)
    const asked = (owned: OwnedGroups): boolean => owned.groups.every((group) => wanted.has(group))
    // Those that are not asked for now have answered before others joined them; they come again with the next command.
    const useful = (owned: OwnedGroups): boolean =>
      owned.canFollow(command) && (asked(owned) || owned.groups.every((group) => held(group) && !wanted.has(group)))
    for (const owned of this.#owned) if (!useful(owned)) owned.free()
    this.#owned = this.#owned.filter(useful)
    const known = new Set(this.#owned.flatMap(({ groups }) => groups))
    const missing = command.groups.filter((group) => !known.has(group) && group < blob.groups.length)
    if (missing.length > 0) this.#owned.push(await OwnedGroups.open(this.#context, missing))
    return this.#owned.filter(asked)
  }
}
