/** Which methods are worth trying on some data. */
import { CentroidalError, METHODS, type MethodName, type VectorSource } from '../../index.ts'
import { suggestion } from '../nearest-name.ts'
import { badValue } from '../option-values.ts'

const NAMES = Object.keys(METHODS) as MethodName[]

/** From here on looking at every centre is what costs most. */
const MANY_CLUSTERS = 100
const FOR_FEW: readonly MethodName[] = ['lloyd', 'sharp', 'closures-sharp', 'bisecting', 'minibatch']
const FOR_MANY: readonly MethodName[] = ['closures-sharp', 'closures', 'rakm', 'lloyd', 'hkm', 'minibatch']

/** Distortions compare only where the number of clusters is the same. */
function takesCount(name: MethodName): boolean {
  return METHODS[name].findsCount !== true
}

/** Names with commas between, or all. */
export function parseMethods(text: string): readonly MethodName[] | 'all' {
  if (text === 'all') return 'all'
  const names = text.split(',').map((name) => name.trim())
  for (const name of names) {
    if (!(name in METHODS)) throw badValue('--methods', name, suggestion(name, [...NAMES, 'all']))
    if (!takesCount(name as MethodName)) {
      const able = NAMES.filter(takesCount).join(', ')
      throw badValue(
        '--methods',
        name,
        `it finds the number of clusters itself, and distortions of different numbers of clusters cannot be compared; give some of ${able}.`,
      )
    }
  }
  return [...new Set(names as MethodName[])]
}

export function chooseMethods(
  asked: readonly MethodName[] | 'all' | undefined,
  { sparse, name }: Pick<VectorSource, 'sparse' | 'name'>,
  k: number,
): readonly MethodName[] {
  const able = NAMES.filter((method) => takesCount(method) && (sparse === undefined || METHODS[method].sparse === true))
  if (asked === 'all') return able
  const unable = asked?.filter((method) => !able.includes(method)) ?? []
  if (unable.length > 0) {
    throw new CentroidalError(
      'bad-option',
      `Option --methods has ${unable.join(', ')}: ${unable.length > 1 ? 'they require' : 'it requires'} dense rows, and ${name} is sparse; give ${able.join(', ')}.`,
    )
  }
  if (asked !== undefined) return asked
  if (sparse !== undefined) return able
  return k < MANY_CLUSTERS ? FOR_FEW : FOR_MANY
}

/** Default number of clusters: the square root of the number of vectors, at most 1,000. */
export function defaultCount(rows: number): number {
  return Math.max(1, Math.min(1000, Math.round(Math.sqrt(rows))))
}
