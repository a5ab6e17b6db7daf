/** The package as others get it: packed, and unpacked where npm would put it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export const run = (file: string, args: string[], cwd: string): string =>
  execFileSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

export interface Installed {
  /** A project that has the package in its node_modules. */
  readonly folder: string
  readonly package: string
  readonly packedBytes: number
  readonly unpackedBytes: number
}

/** With the dependencies of this checkout: the same files as an install, without the network. */
export function installPackage(): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-pack-'))
  const installed = join(folder, 'node_modules', 'centroidal')
  const packed = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT))
  const { filename, size, unpackedSize } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
  mkdirSync(installed, { recursive: true })
  run('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', installed], folder)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.') && name !== 'centroidal') {
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    }
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return { folder, package: installed, packedBytes: size, unpackedBytes: unpackedSize }
}

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

/** The files of a folder as any web server gives them, without headers that isolate the page. */
export async function serve(folder: string): Promise<{ address: string; server: Server }> {
  const server = createServer((request, response) => {
    try {
      const path = new URL(request.url ?? '/', 'http://localhost').pathname
      const file = path.endsWith('/') ? `${path}index.html` : path
      const bytes = readFileSync(join(folder, file))
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(bytes)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}
