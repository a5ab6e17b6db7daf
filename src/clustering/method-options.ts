/**
 * Options that belong to some methods only. A method lists its own, with defaults and help; asking for
 * one that the method does not have is an error, and the command line makes its flags from these.
 */
import { badOption } from '../core/errors.ts'

/** Every option of every method, as a caller may give it. */
export interface MethodOptions {
  /** closures: most points of a tree leaf. */
  readonly leafSize?: number
  /** closures: most partition trees; akm, rakm: trees of the k-d forest. */
  readonly trees?: number
  /** closures: begin with one tree and add one when progress slows, or take all at once. */
  readonly neighborhoods?: 'adaptive' | 'static'
  /** closures: most trees looked at in a round where they are adaptive; the newest first, then all in turn. */
  readonly visits?: number
  /** closures: add a tree when a round lowers the objective by less than this share. */
  readonly growth?: number
  /** akm, rakm: what searches the centres. */
  readonly index?: 'kd' | 'kmeans'
  /** akm, rakm: centres measured per search; 0 picks the fewest that reach the precision. agm: 0 is `memory`. */
  readonly checks?: number
  /** akm, rakm: share of searches that should find the true nearest centre. */
  readonly precision?: number
  /** akm, rakm, hkm: children of a node of the k-means tree. */
  readonly branching?: number
  /** rakm: keep the centre of the round before unless the new one is nearer (improvement 1). */
  readonly keep?: boolean
  /** rakm: build the index anew with another seed each round (improvement 2). */
  readonly reseed?: boolean
  /** rakm: try one more centre each round, the same for all points (improvement 3). */
  readonly probe?: boolean
  /** bisecting: what splits a cluster in two, and refines. */
  readonly inner?: 'lloyd' | 'sharp'
  /** bisecting: split the largest cluster next, or the one that spreads most. */
  readonly queue?: 'size' | 'spread'
  /** bisecting: go on with all clusters at once when there are k. */
  readonly refine?: boolean
  /** hkm, bisecting: rounds at each node. */
  readonly nodeRounds?: number
  /** canopy: points nearer than this share of the mean distance share a canopy. */
  readonly canopyRadius?: number
  /** minibatch, lvq: points taken at a time; sharp, closures-sharp, bisecting: points whose moves are proposed at a time. */
  readonly batch?: number
  /** sharp, closures-sharp: take the first move that pays instead of the best. */
  readonly fast?: boolean
  /** sharp: look only at this many clusters nearest to the own one; 0: at all. */
  readonly nearest?: number
  /** lvq: share of the way a centre goes towards a point. */
  readonly rate?: number
  /** egm, agm: how far components expand towards the points of others, 0 to 1. */
  readonly lambda?: number
  /** egm, agm: a component goes when it explains less than this share of itself, against those that stay. */
  readonly tau?: number
  /** agm: components a point remembers and shares itself among. */
  readonly memory?: number
  /** egm, agm, gmm: standard deviation components start with; 0: the distance to the nearest other one. */
  readonly sigma?: number
  /** egm, agm, gmm: least standard deviation of a component; 0: a thousandth of that of the data. */
  readonly floor?: number
}

export type SettingValue = number | string | boolean
export type Settings = Readonly<Record<string, SettingValue>>

export interface MethodOption {
  readonly name: keyof MethodOptions
  readonly kind: 'whole' | 'real' | 'choice' | 'switch'
  readonly fallback: SettingValue
  readonly help: string
  readonly least?: number
  readonly most?: number
  readonly choices?: readonly string[]
}

/** The method's settings: what was given, checked, and defaults for the rest. */
export function resolveSettings(method: string, options: readonly MethodOption[], given: MethodOptions): Settings {
  const settings: Record<string, SettingValue> = {}
  for (const option of options) {
    const value = given[option.name]
    settings[option.name] = value === undefined ? option.fallback : checkSetting(method, option, value)
  }
  return settings
}

function checkSetting(method: string, option: MethodOption, value: SettingValue): SettingValue {
  const { name, kind, least = 0, most = Number.POSITIVE_INFINITY, choices = [] } = option
  const range = most === Number.POSITIVE_INFINITY ? `${least} or more` : `${least} to ${most}`
  const wrong = (cure: string): Error => badOption(name, value, `${method} needs ${cure}.`)
  if (kind === 'choice' && !choices.includes(value as string)) throw wrong(`one of ${choices.join(', ')}`)
  if (kind === 'switch' && typeof value !== 'boolean') throw wrong('true or false')
  if (kind === 'whole' || kind === 'real') {
    const fits = typeof value === 'number' && value >= least && value <= most
    if (!fits || (kind === 'whole' && !Number.isInteger(value))) {
      throw wrong(`a ${kind === 'whole' ? 'whole ' : ''}number, ${range}`)
    }
  }
  return value
}
