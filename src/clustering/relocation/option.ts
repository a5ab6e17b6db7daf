/** Whether a run relocates clusters: the option, or its default. */
import { badOption } from '../../core/errors.ts'
import { isMatrix } from '../../core/matrix.ts'
import type { AnyClusterOptions } from '../cluster-options.ts'
import { METHODS, type MethodName } from '../presets.ts'

/** Numbers of all vectors that one process may be asked to read by default, where the vectors come in shards. */
const MOST_GATHERED = 1e9

/** A run that is resumed goes on as it was. `shardedNumbers`: how many numbers the vectors have, where they come in shards. */
export function relocationChoice(
  { relocate, start, resume }: AnyClusterOptions,
  method: MethodName,
  shardedNumbers: number | undefined,
): boolean {
  const large = (shardedNumbers ?? 0) > MOST_GATHERED
  const able = METHODS[method].relocates === true
  if (relocate && !able) {
    const names = (Object.keys(METHODS) as MethodName[]).filter((name) => METHODS[name].relocates)
    throw badOption(
      'relocate',
      relocate,
      `${method} does not relocate clusters, these methods do: ${names.join(', ')}.`,
    )
  }
  return able && (relocate ?? (resume ? resume.facts.options.relocate === true : !isMatrix(start) && !large))
}
