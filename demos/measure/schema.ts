/** The part of JSON Schema that reports need: enough to refuse a link that somebody made up. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  readonly const?: string
  readonly minimum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** What is wrong with a value that JSON can hold; undefined if nothing is. */
export function check(value: unknown, schema: Schema, at = 'it'): string | undefined {
  const { type, minimum, anyOf, items } = schema
  if (anyOf) return anyOf.some((one) => check(value, one, at) === undefined) ? undefined : `${at} has the wrong type`
  if (schema.const !== undefined && value !== schema.const) return `${at} is not ${schema.const}`
  if (type && typeOf(value) !== type) return `${at} is no ${type}`
  if (minimum !== undefined && !((value as number) >= minimum)) return `${at} is below ${minimum}`
  if (type === 'array' && items) return first((value as unknown[]).map((one, i) => check(one, items, `${at}[${i}]`)))
  return type === 'object' ? checkObject(value as Record<string, unknown>, schema, at) : undefined
}

function checkObject(value: Record<string, unknown>, schema: Schema, at: string): string | undefined {
  const { properties = {}, required = [], additionalProperties } = schema
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) return `${at} has no ${missing}`
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name))
  if (additionalProperties === false && unknown !== undefined) return `${at} has an unknown ${unknown}`
  return first(Object.entries(properties).map(([name, one]) => check(value[name], one, name)))
}

function first(found: readonly (string | undefined)[]): string | undefined {
  return found.find((one) => one !== undefined)
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
