/** Every value of a JSON document replaced by values it should not have, one at a time. */

const NESTED = `${'['.repeat(20_000)}1${']'.repeat(20_000)}`

/** As JSON text, because 1e999 and deep nesting cannot be made any other way. */
export const WRONG_VALUES: readonly string[] = [
  ...[
    'null',
    'true',
    '-1',
    '0',
    '0.5',
    '1e15',
    '1e300',
    '1e999',
    '""',
    '"x"',
    '"__proto__"',
    '[]',
    '{}',
    '[1,"2",null]',
  ],
  ...['{"toString":1,"length":3}', NESTED, `[${'7,'.repeat(50_000)}7]`],
  '"<script>alert(1)</script>"',
  '{"text":"<script>alert(1)</script>"}',
  '[{"text":"<script>alert(1)</script>"}]',
]

const MARK = '@@replaced@@'

export interface Mutation {
  /** Such as "iterations[0].seconds = null". */
  readonly name: string
  readonly json: string
}

/** All values but the first `most` elements of a list are left alone: the others are checked by the same code. */
export function* mutationsOf(value: unknown, values = WRONG_VALUES, most = 2): Generator<Mutation> {
  for (const path of pathsOf(value, most)) {
    const at = path.join('.')
    yield { name: `${at} missing`, json: JSON.stringify(replaced(value, path, undefined)) }
    for (const wrong of values) {
      const name = `${at} = ${wrong.length > 60 ? `${wrong.slice(0, 20)}... (${wrong.length})` : wrong}`
      yield { name, json: JSON.stringify(replaced(value, path, MARK)).replace(`"${MARK}"`, () => wrong) }
    }
  }
}

type Path = readonly (string | number)[]

function pathsOf(value: unknown, most: number): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, most) : Object.keys(value)
  return keys.flatMap((key) => [
    [key],
    ...pathsOf((value as Record<string | number, unknown>)[key], most).map((rest) => [key, ...rest]),
  ])
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>
  copy[key] = rest.length === 0 ? by : replaced(copy[key], rest, by)
  return copy
}
