/** From options and shape to the choice of `method: 'auto'`. */

import { assumedSpeed, type DeviceSpeed } from '../device/speed.ts'
import type { MethodName } from '../models/method-names.ts'
import type { ClusterModel } from '../models/model.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { chooseMethod, type MethodChoice, type Task } from './method-choice.ts'
import { METHODS } from './presets.ts'

/** Of the vectors. */
export interface Shape {
  readonly rows: number
  readonly cols: number
  readonly sparse?: boolean
  /** Rows of each shard, where the vectors come in shards. */
  readonly shards?: readonly number[] | undefined
}

/** Speed of the device where it is not known yet: options are checked before a device is opened. */
export const UNKNOWN_SPEED = /* @__PURE__ */ assumedSpeed('cpu', 2)
/** Methods that `auto` chooses from. */
const AUTOMATIC: readonly string[] = ['lloyd', 'closures-sharp'] satisfies MethodName[]

/** The task for which `auto` chooses a method. Undefined if there is no choice. */
export function methodTask(options: AnyClusterOptions, { rows, cols, sparse = false }: Shape): Task | undefined {
  const { method = 'auto', k, resume } = options
  if (method !== 'auto' || typeof k !== 'number' || (resume && keptChoice(resume))) return undefined
  const has = (of: MethodName, name: string): boolean => METHODS[of].options.some((option) => option.name === name)
  const all = Object.keys(METHODS) as MethodName[]
  const given = Object.keys(options).filter((name) => all.some((of) => has(of, name)))
  return { k, rows, cols, sparse, takes: (of) => given.every((name) => has(of, name)) }
}

/** `speed`: of the device, once it is open. */
export function automaticMethod(
  options: AnyClusterOptions,
  shape: Shape,
  speed: DeviceSpeed = UNKNOWN_SPEED,
): MethodChoice | undefined {
  const task = methodTask(options, shape)
  return task ? chooseMethod(task, speed) : options.resume && keptChoice(options.resume)
}

/** A run that is resumed goes on as it began, also if the device was tuned in between. */
function keptChoice({ facts }: ClusterModel): MethodChoice | undefined {
  if (!AUTOMATIC.includes(facts.method)) return undefined
  const { methodReason } = facts.options
  const reason = typeof methodReason === 'string' ? methodReason : 'chosen by auto: the method of the model to resume'
  return { method: facts.method as MethodName, reason }
}
