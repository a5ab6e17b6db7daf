/**
 * The built command line inside this process: starting a process takes far longer than most commands. The module is
 * imported anew for each command line; what it changes in the process is taken back.
 */
import { pathToFileURL } from 'node:url'
import { CLI, type Ended } from './cli.ts'

const EVENTS = ['uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'exit', 'warning'] as const
/** Time that ending in an orderly way may take on a busy machine. */
const GRACE_MS = 15_000

class ExitCalled extends Error {}

let imports = 0

export async function runCliHere(
  args: readonly string[],
  { cwd, patience }: { cwd: string; patience: number },
): Promise<Ended> {
  const { argv, exit } = process
  const folder = process.cwd()
  const [out, err] = [process.stdout.write, process.stderr.write]
  const listeners = EVENTS.map((event) => process.listeners(event as 'exit'))
  let stdout = ''
  let stderr = ''
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const ended = new Promise<Pick<Ended, 'code' | 'hung'>>((resolve) => {
    process.exit = (code) => {
      resolve({ code: Number(code ?? process.exitCode ?? 0), hung: false })
      throw new ExitCalled('exit')
    }
    timer = setTimeout(() => {
      stopped = true
      const heard = process.emit('SIGINT', 'SIGINT')
      if (!heard) resolve({ code: 130, hung: false })
      timer = setTimeout(() => resolve({ code: null, hung: true }), GRACE_MS)
    }, patience)
  })
  process.stdout.setMaxListeners(0)
  process.stderr.setMaxListeners(0)
  process.stdout.write = collector((text) => {
    stdout += text
  })
  process.stderr.write = collector((text) => {
    stderr += text
  })
  process.argv = [argv[0], CLI, ...args]
  process.exitCode = undefined
  process.chdir(cwd)
  try {
    const running = import(`${pathToFileURL(CLI).href}?${imports++}`).then(
      () => ({ code: Number(process.exitCode ?? 0), hung: false }),
      (error: unknown) => {
        if (error instanceof ExitCalled) return ended
        stderr += `\nUncaught: ${(error as Error)?.stack ?? error}`
        return { code: 1, hung: false }
      },
    )
    const { code, hung } = await Promise.race([running, ended])
    return { code, signal: null, stdout, stderr, stopped, hung }
  } finally {
    clearTimeout(timer)
    Object.assign(process, { argv, exit, exitCode: undefined })
    process.stdout.write = out
    process.stderr.write = err
    process.stdout.removeAllListeners('error')
    process.stderr.removeAllListeners('error')
    for (const [i, event] of EVENTS.entries()) {
      for (const listener of process.listeners(event as 'exit')) {
        if (!listeners[i].includes(listener)) process.removeListener(event, listener)
      }
    }
    process.chdir(folder)
  }
}

function collector(take: (text: string) => void): typeof process.stdout.write {
  return ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    take(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    const done = rest.find((value) => typeof value === 'function') as (() => void) | undefined
    if (done) queueMicrotask(done)
    return true
  }) as typeof process.stdout.write
}
