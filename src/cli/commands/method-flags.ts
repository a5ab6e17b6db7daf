/** Flags made from what the methods say about their options, so that a new method brings its own. */
import { Option } from 'commander'
import { METHODS, type MethodName, type MethodOption, type MethodOptions } from '../../index.ts'
import { flagName } from '../format.ts'
import { oneOf, realNumber, wholeNumber } from '../option-values.ts'

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[]

/** Options of methods whose flag has another name: `--memory` is the memory of the process. */
const FLAG_NAMES: Readonly<Partial<Record<keyof MethodOptions, string>>> = { memory: 'remember' }

export interface MethodFlags extends Omit<MethodOptions, 'memory'> {
  readonly remember?: number
}

interface Owner {
  readonly method: MethodName
  readonly option: MethodOption
}

/** Options of all methods by name, each with the methods that take it. */
function ownersByName(): Map<keyof MethodOptions, Owner[]> {
  const owners = new Map<keyof MethodOptions, Owner[]>()
  for (const method of METHOD_NAMES) {
    for (const option of METHODS[method].options) {
      owners.set(option.name, [...(owners.get(option.name) ?? []), { method, option }])
    }
  }
  return owners
}

export function methodFlags(): Option[] {
  return [...ownersByName()].flatMap(([name, owners]) =>
    owners[0].option.kind === 'switch' ? switchFlags(name, owners) : [valueFlag(name, owners)],
  )
}

/** The given options of methods only. */
export function givenMethodOptions(flags: MethodFlags): MethodOptions {
  const values = flags as Readonly<Record<string, unknown>>
  const given = [...ownersByName().keys()].map((name) => [name, values[FLAG_NAMES[name] ?? name]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** The methods with a line about each, for the help. */
export function methodList(): string {
  const width = Math.max(...METHOD_NAMES.map((name) => name.length))
  return METHOD_NAMES.map((name) => `  ${name.padEnd(width)}  ${METHODS[name].summary}`).join('\n')
}

function valueFlag(name: keyof MethodOptions, owners: readonly Owner[]): Option {
  const flag = `--${FLAG_NAMES[name] ?? flagName(name)}`
  const options = owners.map(({ option }) => option)
  const { kind } = options[0]
  const choices = [...new Set(options.flatMap((option) => option.choices ?? []))]
  const placeholder = kind === 'choice' ? 'name' : kind === 'whole' ? 'count' : 'number'
  const about = kind === 'choice' ? `${choices.join(' or ')}: ${helpOf(owners)}` : helpOf(owners)
  // The loosest bound of all: what the chosen method makes of it, it says itself.
  const least = Math.min(...options.map((option) => option.least ?? 0))
  const parser =
    kind === 'choice' ? oneOf(flag, choices) : kind === 'whole' ? wholeNumber(flag, '', least) : realNumber(flag, '')
  return new Option(`${flag} <${placeholder}>`, about).argParser<unknown>(parser)
}

/** Only the one that changes something is shown; the other is there too, for who likes to say all. */
function switchFlags(name: keyof MethodOptions, owners: readonly Owner[]): Option[] {
  const on = owners.some(({ option }) => option.fallback === true)
  const off = owners.some(({ option }) => option.fallback === false)
  const help = helpOf(owners)
  return [
    new Option(`--${flagName(name)}`, help).hideHelp(!off),
    new Option(`--no-${flagName(name)}`, `do not ${help}`).hideHelp(!on),
  ]
}

/** For example "most points of a leaf (closures; default: 10)"; methods that say the same share it. */
function helpOf(owners: readonly Owner[]): string {
  const meanings = new Map<string, Owner[]>()
  for (const owner of owners) meanings.set(owner.option.help, [...(meanings.get(owner.option.help) ?? []), owner])
  return [...meanings]
    .map(([help, sharing]) => `${help} (${sharing.map(({ method }) => method).join(', ')}${defaultOf(sharing)})`)
    .join('; ')
}

function defaultOf(owners: readonly Owner[]): string {
  // A switch is shown in the form that changes its default.
  if (owners[0].option.kind === 'switch') return ''
  const values = new Set(owners.map(({ option }) => option.fallback))
  if (values.size === 1) return `; default: ${owners[0].option.fallback}`
  return `; default: ${owners.map(({ method, option }) => `${option.fallback} for ${method}`).join(', ')}`
}
