/** The built command line in a process of its own, with a time limit. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../cli.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** True where it went on until it was asked to stop. */
  readonly stopped: boolean
  /** True where it did not even stop then. */
  readonly hung: boolean
}

export interface CliOptions {
  readonly cwd: string
  /** After this an interrupt is sent, as a person would do with Ctrl-C. */
  readonly patience?: number
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Kills it with SIGKILL after so many milliseconds. */
  readonly killAfter?: number
}

/** Time that ending in an orderly way may take on a busy machine. */
const GRACE_MS = 20_000
const MOST_OUTPUT = 200_000

export function runCli(args: readonly string[], options: CliOptions): Promise<Ended> {
  const { cwd, patience = 10_000, nodeOptions = [], environment = {}, killAfter } = options
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...nodeOptions, CLI, ...args], {
      cwd,
      env: { ...process.env, CENTROIDAL_NO_GPU: '1', NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    let stopped = false
    let hung = false
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < MOST_OUTPUT) stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MOST_OUTPUT) stderr += text
    })
    const interrupt = setTimeout(() => {
      stopped = true
      child.kill('SIGINT')
    }, patience)
    const kill = setTimeout(() => {
      hung = true
      child.kill('SIGKILL')
    }, patience + GRACE_MS)
    const murder = killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter)
    child.on('close', (code, signal) => {
      clearTimeout(interrupt)
      clearTimeout(kill)
      clearTimeout(murder)
      resolve({ code, signal, stdout, stderr, stopped, hung })
    })
  })
}
