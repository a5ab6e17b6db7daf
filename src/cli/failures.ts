/** How a command ends when it does not end well: one sentence, one exit code. */
import { CommanderError } from 'commander'
import { CentroidalError } from '../index.ts'
import { Interrupted, type Session } from './session.ts'

/** Where people tell about what should never have happened. */
const PLEASE_REPORT = 'please report it, with the output of CENTROIDAL_DEBUG=1'

export function exitCodeOf(error: unknown, session: Session): number {
  if (error instanceof CommanderError) return 2
  if (wasInterrupted(error, session)) return 130
  return error instanceof CentroidalError ? 2 : 1
}

export function tellFailure(error: unknown, session: Session): void {
  const { stderr } = session
  const calm = wasInterrupted(error, session)
  const sentence = sentenceFor(error, session)
  stderr.line(calm ? stderr.colors.yellow(sentence) : stderr.colors.red(sentence))
  if (process.env.CENTROIDAL_DEBUG === '1') stderr.line(stackOf(error))
}

function sentenceFor(error: unknown, session: Session): string {
  // Messages of the library do not contain flags; they are added here.
  if (error instanceof CentroidalError)
    return error.message
      .replace(/(or|use|try) the CPU device/i, '$& (--device cpu)')
      .replace(/the option (columns|format)\b/, '--$1')
  if (error instanceof CommanderError || error instanceof Interrupted) return error.message
  if (wasInterrupted(error, session)) return 'Interrupted: nothing was written.'
  const [what] = String((error as Error)?.message ?? error).split('\n')
  return `Internal error (${what}): ${PLEASE_REPORT}.`
}

/** Work that was aborted fails in many ways; all of them are the answer to the same Ctrl-C. */
function wasInterrupted(error: unknown, session: Session): boolean {
  return error instanceof Interrupted || (session.interrupted && (error as Error)?.name === 'AbortError')
}

function stackOf(error: unknown): string {
  const own = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const cause = (error as Error)?.cause
  return cause === undefined ? own : `${own}\nCaused by: ${stackOf(cause)}`
}
