/** The environment of a command: its output streams, colours, and signal to stop. */
import picocolors from 'picocolors'

/** Ctrl-C before anything could be saved, or after it was: the sentence says which. Exit code 130. */
export class Interrupted extends Error {}

export class Output {
  readonly isTerminal: boolean
  readonly colors: ReturnType<typeof picocolors.createColors>
  readonly #stream: NodeJS.WriteStream
  #used = false
  #closed = false
  #failure: NodeJS.ErrnoException | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.isTerminal = stream.isTTY === true
    this.colors = picocolors.createColors(this.isTerminal && !process.env.NO_COLOR && process.env.TERM !== 'dumb')
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The work goes on, for the files it writes. A reader that stops early, such as `| head`, is no failure.
      this.#closed = true
      if (error.code !== 'EPIPE') this.#failure ??= error
    })
  }

  /** Why text was lost, after `flush`. */
  get failure(): NodeJS.ErrnoException | undefined {
    return this.#failure
  }

  /** Resolves when all text has been written, or could not be. */
  async flush(): Promise<void> {
    // Even an empty write fails on a full disk, which is no loss where nothing was to be written.
    if (!this.#used) return
    if (!this.#closed) await new Promise<void>((resolve) => void this.#stream.write('', () => resolve()))
    // Errors are emitted after the callbacks of the writes that failed.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  get stream(): NodeJS.WriteStream {
    return this.#stream
  }

  write(text: string): void {
    this.#used = true
    if (!this.#closed) this.#stream.write(text)
  }

  /** Bytes of a file that goes to a pipe. */
  bytes(bytes: Uint8Array): void {
    this.#used = true
    if (!this.#closed) this.#stream.write(bytes)
  }

  line(text: string): void {
    this.write(`${text}\n`)
  }

  json(value: object): void {
    this.line(JSON.stringify(value))
  }
}

export interface Streams {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

export class Session {
  readonly stdout: Output
  readonly stderr: Output
  /** As it was typed, for the report. */
  readonly commandLine: string
  /** Set before a command connects to a store: timers of such connections may outlive the command. */
  connects = false
  #interruption: AbortController | undefined

  constructor(args: readonly string[], { stdout, stderr }: Streams = process) {
    this.stdout = new Output(stdout)
    this.stderr = new Output(stderr)
    this.commandLine = ['centroidal', ...args.map(withoutPassword).map(quoted)].join(' ')
  }

  /**
   * From the first call on, Ctrl-C requests an orderly end, and only a second one ends the process immediately. Commands
   * that have nothing to save never call this, and end as any program does.
   */
  interruption(): AbortSignal {
    if (this.#interruption === undefined) {
      const controller = new AbortController()
      this.#interruption = controller
      const stop = (): void => {
        if (controller.signal.aborted) process.exit(130)
        controller.abort()
      }
      process.on('SIGINT', stop)
      process.on('SIGTERM', stop)
    }
    return this.#interruption.signal
  }

  get interrupted(): boolean {
    return this.#interruption?.signal.aborted === true
  }
}

/** Addresses of stores may hold a password, which does not belong in a report. */
function withoutPassword(argument: string): string {
  return argument.replace(/^([a-z=-]*[a-z]+:\/\/[^/:@]*):[^/@]*@/i, '$1:...@')
}

/** An argument as a shell needs it. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./~-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`
}
