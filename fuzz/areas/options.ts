/** Wrong types and values in every argument and option of every public function. */
import { types } from 'node:util'
import { CentroidalError, openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import { acceptError, OwnError } from '../judge.ts'
import { type Argument, type Call, callsOf, fixtures, uncalled } from './calls.ts'
import { type Nasty, nastyFor } from './nasty-values.ts'

export const options: Area = {
  name: 'options',
  title: 'option types and values, all functions',
  share: 4,
  seconds: 20,
  megabytes: 1500,
  run,
}

/** Calls that take long by what they were asked for are stopped; that they can be stopped is what counts. */
const PATIENCE_MS = 1500

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  const device = await openDevice({ kind: 'cpu', shared: false })
  try {
    const calls = callsOf(await fixtures(), device, folder())
    const missing = uncalled(calls)
    if (missing.length > 0) throw new Failure('wrong result', `no case calls ${missing.join(', ')}`)
    const call = draw.pick(calls)
    const args: unknown[] = call.arguments.map(({ value }) => value)
    const done: string[] = []
    let refused = false
    const replaced = new Set<string>()
    for (let left = draw.chance(0.8) ? 1 : 2; left > 0; left--) {
      const at = draw.below(args.length)
      const argument = call.arguments[at]
      const option = argument.options && draw.chance(0.85) ? draw.pick(Object.keys(argument.options)) : undefined
      const expects = option === undefined ? argument.expects : (argument.options?.[option] ?? 'other')
      const value = option === undefined && draw.chance(0.1) ? missingValue(argument) : await nastyFor(draw, expects)
      const place = `${at} ${option ?? ''}`
      // A second value must not undo the first.
      if (
        [...replaced].some(
          (other) => other === place || other === `${at} ` || (option === undefined && other.startsWith(`${at} `)),
        )
      )
        continue
      replaced.add(place)
      args[at] = option === undefined ? value.value : { ...(args[at] as object), [option]: value.value }
      // An option that does not exist must be refused whatever its value is.
      if (value.refused || (option === 'bogus' && value.value !== undefined)) refused = true
      done.push(`${option ?? `argument ${at}`} = ${value.text}`)
    }
    note(`${call.name}: ${done.join('; ')}`)
    await judge(call, args, refused, done.join())
  } finally {
    await device.close()
  }
}

function missingValue({ optional }: Argument): Nasty {
  return { value: undefined, text: 'undefined', refused: !optional }
}

async function judge(call: Call, args: readonly unknown[], refused: boolean, given: string): Promise<void> {
  const stop = new AbortController()
  const final = args.map((value, at) => withSignal(value, call.arguments[at], stop.signal))
  const timer = setTimeout(() => stop.abort(), PATIENCE_MS)
  let result: unknown
  try {
    try {
      result = call.call(final)
    } catch (error) {
      if (call.later && !(error instanceof OwnError)) {
        acceptError(error, { own: true, given })
        throw new Failure('raw error', `${call.name} throws at once instead of rejecting: ${(error as Error).message}`)
      }
      throw error
    }
    await result
  } catch (error) {
    if (error instanceof Failure) throw error
    if (stop.signal.aborted && (error as Error)?.name === 'AbortError') return
    acceptError(error, { own: true, given })
    if (error instanceof CentroidalError && error.message.length < 10) throw new Failure('bad message', error.message)
    return
  } finally {
    clearTimeout(timer)
  }
  if (refused && !stop.signal.aborted) throw new Failure('silent acceptance', `${call.name} accepted it`)
}

/** Adds a signal to options that take one and have none. */
function withSignal(value: unknown, argument: Argument, signal: AbortSignal): unknown {
  const takes = argument.options?.signal !== undefined
  if (!takes || typeof value !== 'object' || value === null || types.isProxy(value)) return value
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.hasOwn(value, 'signal')) return value
  return { ...value, signal }
}
