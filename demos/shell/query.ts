/** The state of a page in its address, so that a person or a test can link to it. */

export type QueryValues = Readonly<Record<string, string | number | boolean>>

/** Values from the address where it has good ones, else the defaults. */
export function readQuery<Values extends QueryValues>(defaults: Values): Widened<Values> {
  const given = new URLSearchParams(location.search)
  const read = (name: string, fallback: string | number | boolean) => {
    const text = given.get(name)
    if (text === null) return fallback
    if (typeof fallback === 'boolean') return text !== '0' && text !== 'false'
    if (typeof fallback === 'string') return text
    return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : fallback
  }
  return Object.fromEntries(
    Object.entries(defaults).map(([name, fallback]) => [name, read(name, fallback)]),
  ) as Widened<Values>
}

/** Writes what differs from the defaults; the rest of the address stays. */
export function writeQuery(values: QueryValues, defaults: QueryValues): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(values)) {
    if (value === defaults[name]) query.delete(name)
    else query.set(name, typeof value === 'boolean' ? String(Number(value)) : String(value))
  }
  const text = query.toString()
  history.replaceState(null, '', text ? `?${text}` : location.pathname)
}

type Widened<Values extends QueryValues> = {
  -readonly [Name in keyof Values]: Values[Name] extends number
    ? number
    : Values[Name] extends boolean
      ? boolean
      : string
}
