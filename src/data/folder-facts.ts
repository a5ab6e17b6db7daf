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

/** Rounds are numbered upwards; the distortion of the last is told once more. */
export function checkRounds(
  at: string,
  rounds: readonly { readonly iteration: number; readonly distortion: number }[],
  distortion: number,
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

/**
 * Options of a run are shown and compared, not computed with: any values will do, two levels deep. Only the sizes of shards
 * are used when a run is resumed.
 */
export const shownOptions: Schema<Readonly<Record<string, unknown>>> = (value, at) => {
  const options = plainObject(value, at)
  for (const [name, option] of Object.entries(options)) {
    if (name === 'shards') {
      if (Array.isArray(option)) list(whole(0))(option, `${at}.${name}`)
      else whole(1)(option, `${at}.${name}`)
      continue
    }
    const inner =
      typeof option === 'object' && option !== null ? Object.values(plainObject(option, `${at}.${name}`)) : []
    for (const entry of inner) {
      if (typeof entry === 'object' && entry !== null) throw wrongValue(`${at}.${name}`, entry, 'a plain value')
    }
  }
  return options
}
