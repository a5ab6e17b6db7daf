/** Peak memory of the commands that take a memory limit, each over the same file in a process of its own. Linux only. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { peakOf } from './peak.ts'

/** Milliseconds between two looks at a process. Its peak is kept by the system, so that only what comes last can be missed. */
const STEP = 10

export interface CommandRun {
  readonly file: string
  readonly k: number
  readonly rounds: number
  readonly threads: number
  readonly megabytes: number
}

export interface CommandResult {
  readonly command: string
  readonly seconds: number
  readonly peakBytes: number
}

export async function measureCommands({ file, k, rounds, threads, megabytes }: CommandRun): Promise<CommandResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const out = (name: string): string => join(folder, name)
  const limited = ['--memory', `${megabytes}MB`, '--device', 'cpu', '--threads', String(threads), '--quiet']
  const clustering = ['--method', 'closures-sharp', '--iterations', String(rounds)]
  const commands: readonly (readonly string[])[] = [
    ['cluster', file, '-k', String(k), ...clustering, '--out', out('run')],
    ['assign', out('run'), file, '--out', out('labels.npy')],
    [
      'quantize',
      file,
      '--type',
      'pq',
      '--sample',
      '1000000',
      '--iterations',
      String(rounds),
      '--out',
      out('quantizer'),
    ],
    ['encode', out('quantizer'), file, '--out', out('codes.npy')],
    ['vocabulary', file, '--words', String(k), ...clustering, '--out', out('vocabulary')],
  ]
  try {
    const results: CommandResult[] = []
    for (const command of commands) {
      results.push(await measure([...command, ...limited]))
      console.error(`centroidal ${command[0]}: done`)
    }
    return results
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(command: readonly string[]): Promise<CommandResult> {
  const cli = fileURLToPath(new URL('../cli.js', import.meta.url))
  const began = performance.now()
  const child = spawn(process.execPath, [cli, ...command], { stdio: ['ignore', 'inherit', 'inherit'] })
  let peakBytes = 0
  const look = (): void => {
    try {
      peakBytes = Math.max(peakBytes, peakOf(readFileSync(`/proc/${child.pid}/status`, 'utf8')) || 0)
    } catch {
      // The process has just ended.
    }
  }
  const timer = setInterval(look, STEP)
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearInterval(timer)
  if (status !== 0) throw new Error(`centroidal ${command[0]} ended with ${status}`)
  return { command: command[0], seconds: (performance.now() - began) / 1000, peakBytes }
}
