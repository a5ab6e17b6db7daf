/** The command line: one process, one command, one exit code. */
import { exitCodeOf, tellFailure } from './failures.ts'
import { createProgram } from './program.ts'
import { Session } from './session.ts'

async function main(args: readonly string[]): Promise<void> {
  const session = new Session(args)
  // What Node thinks of the libraries below is nothing a user of a command can act on.
  if (process.env.CENTROIDAL_DEBUG !== '1') process.removeAllListeners('warning')
  const fail = (error: unknown): void => {
    tellFailure(error, session)
    process.exit(exitCodeOf(error, session))
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  const program = createProgram(session)
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : [...args], { from: 'user' })
  } catch (error) {
    tellFailure(error, session)
    process.exitCode = exitCodeOf(error, session)
  }
}

await main(process.argv.slice(2))
