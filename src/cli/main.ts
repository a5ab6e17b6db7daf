/** The command line: one process, one command, one exit code. */
import { runCommandLine } from './command-line.ts'
import { exitCodeOf, tellFailure } from './failures.ts'
import { Session } from './session.ts'

/** Milliseconds for which a process that was connected to a store may outlive its command. */
const LINGER = 2000

async function main(args: readonly string[]): Promise<void> {
  const session = new Session(args)
  // Users of a command cannot act on warnings of Node about its packages.
  if (process.env.CENTROIDAL_DEBUG !== '1') process.removeAllListeners('warning')
  const fail = (error: unknown): void => {
    tellFailure(error, session)
    process.exit(exitCodeOf(error, session))
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  process.exitCode = await runCommandLine(args, session)
  if (session.connects) setTimeout(() => process.exit(), LINGER).unref()
}

await main(process.argv.slice(2))
