/** The devices of a run with the state of the method on each: the steps of a round that all of them perform. */
import { rehearse } from '../device/rehearsal.ts'
import { mergeSums, type PartialSums } from './partial.ts'
import type { SumsKind } from './remote-owners.ts'
import type { CandidateSource, RunState, Update, UpdateResult } from './run-state.ts'
import type { Team } from './team.ts'

export interface Updating {
  readonly state: RunState
  readonly update: Update
}

export interface Member extends Updating {
  readonly candidates: CandidateSource
}

/** The first member leads. */
export interface Crew<M extends Updating = Member> {
  readonly team: Team
  readonly members: readonly M[]
}

/**
 * Begins to compile what rounds will need, while the run still looks for its first centres. Vectors that are streamed may
 * not be there yet, and are not asked for.
 */
export async function rehearseRounds({ members }: Crew): Promise<void> {
  await Promise.all(
    members.map(async ({ state, candidates, update }) => {
      const { device, points, parts } = state
      const rehearsal = rehearse(device)
      if (rehearsal === undefined || parts.length === 0 || !points.resident) return
      const vectors = await points.vectors(parts[0])
      await update.rehearse?.(state, rehearsal.device, parts[0], vectors)
      await candidates.rehearse?.(state, rehearsal.device, parts[0], vectors)
      await rehearsal.ready()
    }),
  )
}

/** The update takes all points as they are labelled now, and centres become what follows from that. */
export async function updateFromLabels(crew: Crew<Updating>, kind: SumsKind = 'update'): Promise<UpdateResult> {
  const [answers] = await Promise.all([
    crew.team.ask('take', { kind }),
    crew.team.everywhere((_state, owner) => takeByLabels(crew.members[owner])),
  ])
  return finishUpdate(
    crew,
    answers.map(({ sums }) => sums),
  )
}

/** The update of one device takes its points as they are labelled now. */
export async function takeByLabels({ state, update }: Updating): Promise<void> {
  const { parts, points } = state
  update.reset?.(state)
  for (const part of parts) await update.addPart(state, part, await points.vectors(part))
}

/**
 * After all points were taken: partial sums are merged, those of other processes (`remote`) too; the leading device
 * finishes, the others follow.
 */
export async function finishUpdate(
  { team, members }: Crew<Updating>,
  remote: readonly PartialSums[] = [],
): Promise<UpdateResult> {
  const [lead, ...others] = members
  if (others.length === 0 && team.remote === undefined) return lead.update.finish(lead.state)
  const own = await Promise.all(members.map(({ state, update }) => update.partial(state)))
  const partials = [...own, ...remote]
  const merged = partials.reduce(mergeSums)
  lead.update.absorb(lead.state, merged)
  const result = await lead.update.finish(lead.state)
  await team.shareCenters()
  for (const { state, update } of others) await update.follow?.(state, merged, result.news)
  if (lead.update.follow) team.note('follow', { merged, news: result.news })
  return result
}
