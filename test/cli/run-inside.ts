/** The command line in this process: no start-up time, so that a table of many calls stays quick. */
import { Writable } from 'node:stream'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { Session } from '../../src/cli/session.ts'
import type { Ended } from './run-cli.ts'

export async function runInside(...args: string[]): Promise<Ended> {
  const streams = { stdout: new Capture(), stderr: new Capture() }
  const session = new Session(args, streams as unknown as NodeJS.Process)
  const code = await runCommandLine(args, session)
  return { code, stdout: streams.stdout.text, stderr: streams.stderr.text }
}

class Capture extends Writable {
  text = ''

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk
    done()
  }
}
