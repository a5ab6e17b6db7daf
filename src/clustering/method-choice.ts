/**
 * What `method: 'auto'` means: exact k-means (`lloyd`) or moves among the clusters of neighbours (`closures-sharp`), from
 * the time that a round of each should take on the device at hand.
 *
 * The model, for n points of d columns and k clusters, in operations per point and round:
 *
 * lloyd            1.7 k (d + 24) + 7,000 + 180 d    the products, then sorting and summing closures-sharp   40,000 + 450 d
 * does not depend on k: a point has about a dozen candidates
 *
 * The 24 columns are a fitted cost of each pair of point and centre; 16 to 32 fit about as well. The speed of exact assignment counts
 * 2 k d operations and is measured with 128 columns, where 1.7 k (d + 24) is as much. *
 * Each is divided by a speed of the device (`DeviceSpeed`): that of exact assignment, and that of closures-sharp. The
 * constants are fitted to rounds of both methods on the CPU device, where the two speeds are the same by definition
 * (`npm run bench -- choice` compares them with measured rounds). On a GPU the second is far lower, because dense products
 * reach the peak of its arithmetic and short lists of candidates do not: there lloyd pays off for more clusters.
 *
 * Fewer than 100 clusters, and rounds that take no noticeable time anyway, are left to lloyd, because it is exact. Otherwise
 * lloyd must be clearly faster: closures-sharp ends lower and needs fewer rounds to get as low as lloyd
 * (`npm run bench -- sharp`).
 *
 * Speeds are powers of two that are remembered, or assumed by the kind of device, so the choice does not change from run to
 * run. It may be another one on another device; give the method to fix it.
 */

import { type DeviceSpeed, type Speed, speedWords } from '../device/speed.ts'
import type { MethodName } from '../models/method-names.ts'

export interface MethodChoice {
  readonly method: MethodName
  /** For people. */
  readonly reason: string
  /** A round over every centre takes no noticeable time. */
  readonly cheap?: boolean
}

/** What is clustered. */
export interface Task {
  readonly k: number
  readonly rows: number
  readonly cols: number
  readonly sparse: boolean
  /** False for a method that does not take the options that were given. Default: both take them. */
  readonly takes?: (method: MethodName) => boolean
}

const MANY_CLUSTERS = 100
/** A round this short is not noticeable, in seconds. */
export const CHEAP_ROUND = 1 / 32
/** Factor by which a round of lloyd must be faster than one of closures-sharp. */
const CLEARLY = 2

const LLOYD = { point: 7000, column: 180, pair: 1.7, pairColumns: 24 }
const CLOSURES = { point: 40_000, column: 450 }

/** Seconds of a round of each method. */
export function roundSeconds(
  { k, rows, cols }: Task,
  { exact, closures }: DeviceSpeed,
): { lloyd: number; closures: number } {
  const seconds = (perPoint: number, { gflops }: Speed): number => (rows * perPoint) / (gflops * 1e9)
  return {
    lloyd: seconds(LLOYD.pair * k * (cols + LLOYD.pairColumns) + LLOYD.point + LLOYD.column * cols, exact),
    closures: seconds(CLOSURES.point + CLOSURES.column * cols, closures),
  }
}

/** Whether the choice depends on the speed at all. */
export function dependsOnSpeed(task: Task): boolean {
  return choiceWithoutSpeeds(task) === undefined
}

export function chooseMethod(task: Task, speed: DeviceSpeed): MethodChoice {
  const known = choiceWithoutSpeeds(task)
  if (known) return known
  const { lloyd, closures } = roundSeconds(task, speed)
  const fast = `chosen by auto: ${speedWords(speed.exact)}: an exact round takes ${secondsWords(lloyd)}`
  if (lloyd < CHEAP_ROUND) return { method: 'lloyd', reason: fast, cheap: true }
  const other = `one of closures-sharp ${secondsWords(closures)}${doubt(speed.closures, speed.exact)}`
  return { method: lloyd * CLEARLY <= closures ? 'lloyd' : 'closures-sharp', reason: `${fast}, ${other}` }
}

/** What does not depend on the device. */
function choiceWithoutSpeeds({ k, sparse, takes = () => true }: Task): MethodChoice | undefined {
  if (sparse) return { method: 'lloyd', reason: 'chosen by auto: exact, because the rows are sparse' }
  if (k < MANY_CLUSTERS) {
    return { method: 'lloyd', reason: `chosen by auto: exact, because there are fewer than ${MANY_CLUSTERS} clusters` }
  }
  if (takes('closures-sharp') && !takes('lloyd')) {
    return { method: 'closures-sharp', reason: 'chosen by auto: it takes the options that were given' }
  }
  return undefined
}

/** Devices that share the work are as fast as all of them together. */
export function jointSpeed(speeds: readonly DeviceSpeed[]): DeviceSpeed {
  const sum = (of: (speed: DeviceSpeed) => Speed): Speed => ({
    gflops: speeds.reduce((total, speed) => total + of(speed).gflops, 0),
    source:
      speeds.length > 0 && speeds.every((speed) => of(speed).source === of(speeds[0]).source)
        ? of(speeds[0]).source
        : 'assumed',
  })
  return { exact: sum(({ exact }) => exact), closures: sum(({ closures }) => closures) }
}

/** "about 0.4 s", "about 25 ms" */
export function secondsWords(value: number): string {
  const short = value < 0.1
  const number = Number((short ? value * 1000 : value).toPrecision(2))
  return short && number < 1 ? 'less than 1 ms' : `about ${number.toLocaleString('en')} ${short ? 'ms' : 's'}`
}

/** Says so where only one of the two speeds was measured. */
function doubt(one: Speed, other: Speed): string {
  return one.source === other.source ? '' : ` (${one.source})`
}
