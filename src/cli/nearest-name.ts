/** What to suggest where a name is misspelt. */
import { nearestName } from '../index.ts'

/** "did you mean X?" where there is an X, else all the names. */
export function suggestion(typed: string, names: readonly string[]): string {
  const near = nearestName(typed, names)
  return near === undefined ? `give one of ${names.join(', ')}.` : `did you mean ${near}?`
}
