/** `centroidal serve`: an index over HTTP, on this machine unless told otherwise. */
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { CentroidalError, CodeIndex, InvertedFile } from '../../index.ts'
import { count } from '../format.ts'
import { withVectors } from '../lookup.ts'
import { byteSize, wholeNumber } from '../option-values.ts'
import { closeServer, createSearchServer } from '../search-server.ts'
import type { Session } from '../session.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface ServeFlags extends DeviceFlags, SpeechFlags {
  readonly port: number
  readonly host: string
  readonly rerank?: string
  readonly maxRequest: number
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
const STANDARD_PORT = 8080
const MOST_PORT = 65_535
const STANDARD_REQUEST = 4 * 2 ** 20

export function addServeCommand(program: Command, session: Session): void {
  const command = program
    .command('serve')
    .summary('answer searches in an index over HTTP')
    .description(
      'Loads an inverted file (or a saved CodeIndex) and answers POST /search with JSON. Only programs on this machine can reach it, unless --host is given. Concurrent searches are batched. Ctrl-C answers pending requests and stops the server.',
    )
    .argument('<index>', 'folder written by centroidal ivf build')
    .addOption(
      new Option('--port <number>', 'port to listen on; 0: any free port')
        .argParser(wholeNumber('--port', '', 0, MOST_PORT))
        .default(STANDARD_PORT),
    )
    .option('--host <address>', 'address to listen on; anyone who can reach it can search', 'localhost')
    .option('--rerank <vectors>', 're-rank candidates by these vectors (default: by the stored vectors, if any)')
    .addOption(
      new Option('--max-request <size>', 'largest size of a request, such as 512KB')
        .argParser(byteSize('--max-request', 1024))
        .default(STANDARD_REQUEST, '4MB'),
    )
    .action((folder: string, flags: ServeFlags) => serve(session, folder, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal serve base.ivf --port 8080
  curl localhost:8080/search -H 'content-type: application/json' -d '{"queries": [[0.1, 0.2]], "nearest": 10, "probe": 32}'

A request has queries, and may have nearest, probe, candidates, where (numbers that may be found) and within. The answer has
for each query ids and distances: {"results": [{"ids": [7, 3], "distances": [0.5, 0.8]}]}. GET / describes the index.`,
    )
  addSpeechOptions(addDeviceOptions(command))
}

async function serve(session: Session, folder: string, flags: ServeFlags): Promise<void> {
  const { host, port, maxRequest } = flags
  const index = await loadIndexFolder(folder)
  const signal = session.interruption()
  const local = LOOPBACK.includes(host) || host === '::1'
  await withVectors(flags.rerank, async (vectors) => {
    const device = await openChosenDevice({ ...flags, device: flags.device ?? 'cpu' })
    try {
      const rerank = vectors ?? (index instanceof InvertedFile && index.keep ? true : undefined)
      const server = createSearchServer(
        { index, device, rerank },
        { requestBytes: maxRequest, hosts: local ? LOOPBACK : undefined },
      )
      const address = await listening(server, host, port)
      tellAddress(session, flags, `http://${local ? 'localhost' : host}:${address.port}`, index.size, local)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await closeServer(server)
    } finally {
      await index.close()
      await device.close()
    }
  })
}

function tellAddress(
  session: Session,
  { json, quiet }: SpeechFlags,
  url: string,
  vectors: number,
  local: boolean,
): void {
  if (json) session.stdout.json({ type: 'listening', url, vectors })
  else if (!quiet) session.stdout.line(`Searching ${count(vectors, 'vector')} at ${url}/search. Ctrl-C ends.`)
  if (!local && !quiet) {
    session.stderr.line('Anyone who can reach this address can search: there is no password and no encryption.')
  }
}

/** The kind of a folder follows from its model.json. */
async function loadIndexFolder(folder: string): Promise<InvertedFile | CodeIndex> {
  const text = await readFile(join(folder, 'model.json'), 'utf8').catch(() => '')
  return /"format":\s*"centroidal code index"/.test(text) ? CodeIndex.load(folder) : InvertedFile.load(folder)
}

function listening(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reasons: Record<string, string> = {
        EADDRINUSE: 'another program uses this port; choose another one.',
        EACCES: 'permission denied; choose a port above 1023.',
        EADDRNOTAVAIL: 'this machine does not have this address; choose one of its own.',
        ENOTFOUND: 'the address is unknown; check its spelling.',
      }
      const reason = reasons[error.code ?? ''] ?? `${error.message}.`
      reject(new CentroidalError('bad-option', `Cannot listen on ${host} port ${port}: ${reason}`, { cause: error }))
    })
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })
}
