/** From arguments to an exit code, without ending the process. */
import { CommanderError } from 'commander'
import { CentroidalError } from '../index.ts'
import { exitCodeOf, tellFailure } from './failures.ts'
import { createProgram } from './program.ts'
import type { Session } from './session.ts'

export async function runCommandLine(args: readonly string[], session: Session): Promise<number> {
  try {
    await parsed(args, session)
    await session.stdout.flush()
    requireWritten(session)
    return 0
  } catch (error) {
    tellFailure(error, session)
    return exitCodeOf(error, session)
  }
}

async function parsed(args: readonly string[], session: Session): Promise<void> {
  try {
    await createProgram(session).parseAsync(args.length === 0 ? ['--help'] : [...args], { from: 'user' })
  } catch (error) {
    // Commander throws after it printed help or the version, too.
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error
  }
}

/** A result that went to standard output and was lost there is a failure of the command. */
function requireWritten({ stdout }: Session): void {
  const { failure } = stdout
  if (failure === undefined) return
  const reason = failure.code === 'ENOSPC' ? 'the disk is full; free some space.' : `${failure.message}.`
  throw new CentroidalError('bad-file', `Cannot write to standard output: ${reason}`, { cause: failure })
}
