/** Schemas of what clusterings and quantizers have in common in their JSON files. */
import { badFolder } from './folder-load.ts'
import { choice, list, optional, plainObject, real, record, type Schema, text, whole, wrongValue } from './schema.ts'

/** Rows and columns of an array, and numbers of clusters, are 32-bit on devices. */
export const COUNT = whole(1, 2 ** 32 - 1)

export const SEED = whole(0)

export const deviceFacts = record({ kind: choice('webgpu', 'cpu'), name: text(), reason: text() })

const frameFields = record({
  shift: optional(list(real())),
  scale: real(),
  unit: choice(true, false),
  type: choice('f32', 'u8'),
})

export interface SavedFrame {
  readonly shift: Float64Array | undefined
  readonly scale: number
  readonly unit: boolean
  readonly type: 'f32' | 'u8'
}

/** See vectors/frame.ts: rows of length one are neither shifted nor scaled, and bytes are left as they are. */
export function checkedFrame(value: unknown, at: string, cols: number, unit: boolean): SavedFrame {
  const frame = frameFields(value, at)
  const { shift, scale } = frame
  if (shift !== undefined && shift.length !== cols) throw wrongValue(`${at}.shift`, shift, `an array of ${cols}`)
  if (!isPowerOfTwo(scale)) throw wrongValue(`${at}.scale`, scale, 'a power of two')
  if (frame.unit !== unit) {
    throw wrongValue(`${at}.unit`, frame.unit, `${unit}, which goes with the metric,`)
  }
  const plain = shift === undefined && scale === 1
  if (!plain && (unit || frame.type === 'u8')) {
    throw badFolder(
      `${at} has a shift or a scale, which ${unit ? 'cosine' : 'bytes'} cannot have: save the folder again.`,
    )
  }
  if (unit && frame.type === 'u8') throw wrongValue(`${at}.type`, frame.type, 'f32, which goes with cosine,')
  return { ...frame, shift: shift && Float64Array.from(shift) }
}

function isPowerOfTwo(value: number): boolean {
  return value > 0 && Number.isFinite(value) && 2 ** Math.round(Math.log2(value)) === value
}

/** Rounds are numbered in ascending order; the distortion of the last one is also stored separately. */
export function checkRounds(
  at: string,
  rounds: readonly { readonly iteration: number; readonly distortion: number }[],
  distortion: number | undefined,
): void {
  if (rounds.length === 0) throw wrongValue(`${at} iterations`, rounds, 'at least one round')
  rounds.forEach(({ iteration }, i) => {
    if (i > 0 && iteration <= rounds[i - 1].iteration) {
      throw wrongValue(`${at} iterations[${i}].iteration`, iteration, `more than ${rounds[i - 1].iteration}`)
    }
  })
  const last = rounds[rounds.length - 1].distortion
  if (distortion !== last) throw wrongValue(`${at} distortion`, distortion, `that of the last round, ${last},`)
}

/** A value of an option of a method. */
const setting: Schema<number | string | boolean> = (value, at) => {
  if (['number', 'string', 'boolean'].includes(typeof value)) return value as number
  throw wrongValue(at, value, 'a plain value')
}

const settings: Schema<Readonly<Record<string, number | string | boolean>>> = (value, at) =>
  Object.fromEntries(
    Object.entries(plainObject(value, at)).map(([name, option]) => [name, setting(option, `${at}.${name}`)]),
  )

const startName = text(/^[a-z][a-z-]*$/)

/** Options of a run, as it ran with them. */
export const usedOptions = record({
  k: COUNT,
  method: text(/^[a-z][a-z-]*$/),
  seed: SEED,
  iterations: whole(1),
  tolerance: real(0),
  seconds: optional(real(0)),
  restarts: whole(1),
  start: (value, at) => (typeof value === 'number' ? whole(1)(value, at) : startName(value, at)),
  metric: choice('euclidean', 'cosine'),
  empty: choice('farthest', 'keep'),
  relocate: choice(true, false),
  weighted: choice(true, false),
  shards: optional((value, at) => (Array.isArray(value) ? list(whole(0))(value, at) : whole(1)(value, at))),
  methodReason: optional(text()),
  settings,
})
