/** Whether a run relocates clusters: the option, or its default. */

import { badOption } from '../../core/errors.ts'
import { isMatrix } from '../../core/matrix.ts'
import type { Device } from '../../device/contract.ts'
import type { MethodName } from '../../models/method-names.ts'
import type { AnyClusterOptions } from '../cluster-options.ts'
import { METHODS } from '../presets.ts'

/** Numbers of all vectors that one process may be asked to read by default, where the vectors come in shards. */
const MOST_GATHERED = 1e9
/**
 * Most bytes that a relocation takes by default: 28 for each vector (labels, distances and groups on the host), and 28 for
 * each number of the centres (two halves of each cluster). It does not depend on the memory there is, so that results do not.
 */
const MOST_BYTES = 3 * 2 ** 28
const BYTES_OF_VECTOR = 28
const BYTES_OF_NUMBER = 28
/** Where the memory of the process is limited, a relocation takes at most this share of it by default. */
const SHARE_OF_LIMIT = 1 / 8

/** A run that is resumed goes on as it was. */
export function relocationChoice(
  { relocate, start, resume }: AnyClusterOptions,
  method: { readonly name: string; readonly able: boolean },
  { rows, cols, k, sharded }: { rows: number; cols: number; k: number; sharded: boolean },
): boolean {
  const bytes = relocationBytes({ rows, cols }, k)
  const large = bytes > MOST_BYTES || (sharded && rows * cols > MOST_GATHERED)
  const { able } = method
  if (relocate && !able) {
    const names = (Object.keys(METHODS) as MethodName[]).filter((name) => METHODS[name].relocates)
    throw badOption(
      'relocate',
      relocate,
      `${method.name} does not relocate clusters, these methods do: ${names.join(', ')}.`,
    )
  }
  return able && (relocate ?? (resume ? resume.facts.options.relocate === true : !isMatrix(start) && !large))
}

/** About what a relocation takes on the host and on the device. */
export function relocationBytes({ rows, cols }: { rows: number; cols: number }, k: number): number {
  return rows * BYTES_OF_VECTOR + k * cols * BYTES_OF_NUMBER
}

/** Whether relocation by default fits the memory of the process. */
export function relocationFits(bytes: number, devices: readonly Device[]): boolean {
  return devices.every(({ info }) => bytes <= (info.limits.totalBytes ?? Number.POSITIVE_INFINITY) * SHARE_OF_LIMIT)
}
