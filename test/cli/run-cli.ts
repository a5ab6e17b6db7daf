/** The built command line in a process of its own, as people run it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** No GPU is looked for, so that a test takes as long and finds the same everywhere. */
const ENVIRONMENT = { ...process.env, CENTROIDAL_NO_GPU: '1', NO_COLOR: '1' }

export async function runCli(...args: string[]): Promise<Ended> {
  return ending(startCli(...args))
}

export function startCli(...args: string[]): ChildProcess {
  if (!existsSync(CLI)) throw new Error('dist/cli.js is missing: node scripts/build.mjs makes it')
  return spawn(process.execPath, [CLI, ...args], { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] })
}

export async function ending(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout, stderr }
}

/** Every line of stdout, which has to be JSON and nothing else. */
export function jsonLines({ stdout }: Ended): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** The last line of --json. */
export function result(ended: Ended): Record<string, unknown> {
  if (ended.code !== 0) throw new Error(`exit ${ended.code}: ${ended.stderr}`)
  return jsonLines(ended).at(-1) ?? {}
}
