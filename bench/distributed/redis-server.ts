/** A Redis for tests: that of REDIS_URL, or one started from `redis-server` or `valkey-server` where it is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type TestStore } from './postgres-server.ts'

const PROGRAMS = ['redis-server', 'valkey-server']

/** Undefined where there is none. */
export function redisProgram(): string | undefined {
  return PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0)
}

export function hasRedis(): boolean {
  return process.env.REDIS_URL !== undefined || redisProgram() !== undefined
}

/** One that the test may restart, where there is a program; else that of REDIS_URL. */
export async function startRedis(...flags: string[]): Promise<TestStore> {
  const program = redisProgram()
  if (program === undefined) {
    const url = process.env.REDIS_URL
    if (url === undefined) throw new Error('There is no redis-server and REDIS_URL is not set')
    return { url, restart: async () => {}, crash: async () => {}, stop: async () => {} }
  }
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
    const started = spawn(program, [...args, ...flags], { stdio: ['ignore', 'pipe', 'ignore'] })
    child = started
    await new Promise<void>((resolve, reject) => {
      let said = ''
      started.stdout.on('data', (bytes: Buffer) => {
        said += bytes.toString()
        if (/ready to accept connections/i.test(said)) resolve()
      })
      started.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${said}`)))
    })
  }
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    const running = child
    if (running === undefined || running.exitCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.kill(signal)
    await ended
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    async restart() {
      await end()
      await start()
    },
    async crash() {
      await end('SIGKILL')
      await start()
    },
    async stop() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
