/**
 * Options that belong to some methods only. A method lists its own, with defaults and help; asking for
 * one that the method does not have is an error, and the command line makes its flags from these.
 */
import { badOption } from '../core/errors.ts'
import type { MethodOptions } from '../models/method-names.ts'

/** A value an option of a method can have. */
export type SettingValue = number | string | boolean
export type Settings = Readonly<Record<string, SettingValue>>

/** An option of a method, for programs that offer them: the command line makes its flags from these. */
export interface MethodOption {
  /** Name in {@link MethodOptions}. */
  readonly name: keyof MethodOptions
  /** A whole number, any number, one of `choices`, or true and false. */
  readonly kind: 'whole' | 'real' | 'choice' | 'switch'
  /** The default value. */
  readonly fallback: SettingValue
  /** One line for people. */
  readonly help: string
  /** Minimum of a number. Default 0. */
  readonly least?: number
  /** Maximum of a number. Default: no limit. */
  readonly most?: number
  /** The values of a choice. Optional. */
  readonly choices?: readonly string[]
  /** The option applies only if another option of the method has this value. Default: always. */
  readonly when?: { readonly option: keyof MethodOptions; readonly is: SettingValue }
}

/** The method's settings: what was given, checked, and defaults for the rest. */
export function resolveSettings(method: string, options: readonly MethodOption[], given: MethodOptions): Settings {
  const settings: Record<string, SettingValue> = {}
  for (const option of options) {
    const { name, when } = option
    const value = given[name]
    // Options that others depend on come before them.
    if (when && settings[when.option] !== when.is) {
      if (value === undefined) continue
      throw badOption(name, value, `${method} uses it only with ${when.option} '${when.is}'.`)
    }
    settings[name] = value === undefined ? option.fallback : checkSetting(method, option, value)
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
    const fits = Number.isFinite(value) && Number(value) >= least && Number(value) <= most
    if (!fits || (kind === 'whole' && !Number.isSafeInteger(value))) {
      throw wrong(`a ${kind === 'whole' ? 'whole ' : ''}number, ${range}`)
    }
  }
  return value
}
