/**
 * An index over HTTP: JSON in, JSON out. GET / says what it is, POST /search answers queries. Searches that come at the same time
 * are answered together by the index. What a client can make the server hold is bounded: bytes of requests, numbers of results,
 * connections, and time.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  CentroidalError,
  type CodeIndex,
  type Device,
  InvertedFile,
  type InvertedSearchOptions,
  matrix,
  type RankedCodes,
  type VectorInput,
} from '../index.ts'

export interface ServedIndex {
  readonly index: InvertedFile | CodeIndex
  readonly device: Device
  /** What candidates are measured by: `true` by what the file keeps. Undefined: codes alone. */
  readonly rerank: VectorInput | true | undefined
}

export interface ServerLimits {
  /** Bytes of a request. */
  readonly requestBytes: number
  /** Names that a request may call the host by; undefined: any. */
  readonly hosts: readonly string[] | undefined
}

/** Bytes of all requests that are read or answered. */
const ALL_REQUEST_BYTES = 256 * 2 ** 20
/** Numbers of an answer. */
const MOST_RESULTS = 100_000
const CONNECTIONS = 1024
const REQUEST_MS = 30_000
const NONE = 0xffffffff
/** What of a request goes to the search as it is. */
const OPTIONS = ['nearest', 'probe', 'candidates', 'where', 'within'] as const

/** An answer that is no result. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function createSearchServer(served: ServedIndex, limits: ServerLimits): Server {
  const held = { bytes: 0 }
  const server = createServer((request, response) => {
    const send = (status: number, value: object): void => {
      // What is left of a request that was refused is not read, and a server that ends takes no further ones.
      respond(response, status, value, request.complete && server.listening)
    }
    answer(request, served, limits, held).then(
      (value) => send(200, value),
      (error: unknown) => {
        const [status, message] = failure(error)
        send(status, { error: message })
      },
    )
  })
  server.requestTimeout = REQUEST_MS
  server.headersTimeout = REQUEST_MS
  server.maxConnections = CONNECTIONS
  return server
}

/** Ends when everything that was asked before is answered. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  await closed
}

function failure(error: unknown): [number, string] {
  if (error instanceof Refusal) return [error.status, error.message]
  if (error instanceof CentroidalError && error.code !== 'device-lost') return [400, error.message]
  return [500, 'The search failed.']
}

function respond(response: ServerResponse, status: number, value: object, keepAlive: boolean): void {
  if (response.destroyed) return
  if (!keepAlive) response.setHeader('connection', 'close')
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
  response.end(body)
}

async function answer(
  request: IncomingMessage,
  served: ServedIndex,
  limits: ServerLimits,
  held: { bytes: number },
): Promise<object> {
  requireHost(request, limits)
  const { method } = request
  const [path] = (request.url ?? '/').split('?')
  if (path !== '/' && path !== '/search') {
    throw new Refusal(404, `There is no ${path.slice(0, 100)}: GET / describes the index, POST /search searches it.`)
  }
  const wanted = path === '/' ? 'GET' : 'POST'
  if (method !== wanted) throw new Refusal(405, `${path} does not support ${method}: use ${wanted}.`)
  if (path === '/') return factsOf(served)
  // Pages of other sites may send plain text without being asked; JSON only where the server allows it, and this one does not.
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'Send JSON, with content-type application/json.')
  }
  const { requestBytes } = limits
  const length = Number(request.headers['content-length'] ?? requestBytes)
  if (!(length <= requestBytes)) throw new Refusal(413, tooLarge(requestBytes))
  if (held.bytes + length > ALL_REQUEST_BYTES) throw new Refusal(503, 'Too many requests at the same time: try later.')
  held.bytes += length
  try {
    return await search(served, await readJson(request, requestBytes))
  } finally {
    held.bytes -= length
  }
}

/** A page of another site can have its own name resolve to this machine, but then calls it by that name. */
function requireHost({ headers }: IncomingMessage, { hosts }: ServerLimits): void {
  if (hosts === undefined) return
  const name = (headers.host ?? '').replace(/:\d+$/, '')
  if (!hosts.includes(name.toLowerCase()))
    throw new Refusal(403, `This server can be reached as ${hosts.join(', ')} only.`)
}

function tooLarge(limit: number): string {
  return `The request is larger than ${limit} bytes: send fewer queries at a time.`
}

async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > limit) throw new Refusal(413, tooLarge(limit))
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    throw new Refusal(400, 'The request is not valid JSON.')
  }
}

function factsOf({ index, device, rerank }: ServedIndex): object {
  const { size, metric, quantizer } = index
  return {
    index: index instanceof InvertedFile ? 'inverted file' : 'code index',
    vectors: size,
    columns: quantizer.codec.cols,
    metric,
    ...(index instanceof InvertedFile ? { lists: index.model.centers.rows } : {}),
    codeBytes: quantizer.codeBytes,
    rerank: rerank !== undefined,
    device: device.info.kind,
  }
}

async function search({ index, device, rerank }: ServedIndex, body: unknown): Promise<object> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal(400, 'Send an object with queries, such as {"queries": [[0.1, 0.2]], "nearest": 10}.')
  }
  const { queries, ...rest } = body as Record<string, unknown>
  const unknown = Object.keys(rest).find((key) => !(OPTIONS as readonly string[]).includes(key))
  if (unknown !== undefined) {
    throw new Refusal(400, `Unknown option ${unknown.slice(0, 100)}: give queries, ${OPTIONS.join(', ')}.`)
  }
  if (!Array.isArray(queries) || queries.length === 0) {
    throw new Refusal(400, 'queries is missing: give an array of vectors, such as [[0.1, 0.2]].')
  }
  const rows = matrix(queries as number[][])
  const { nearest = 10 } = rest as { nearest?: unknown }
  if (typeof nearest === 'number' && nearest * rows.rows > MOST_RESULTS) {
    throw new Refusal(400, `${nearest} for each of ${rows.rows} queries exceed ${MOST_RESULTS} results: ask for fewer.`)
  }
  // The index checks what the options are.
  const options = { ...rest, ...(rerank === undefined ? {} : { rerank }), device } as InvertedSearchOptions
  const found = await (index as InvertedFile).search(rows, options)
  return { results: listsOf(found) }
}

/** Of each query the numbers that were found and how far they are, nearest first. */
function listsOf({ m, labels, distances }: RankedCodes): object[] {
  return Array.from({ length: labels.length / m }, (_, query) => {
    const from = query * m
    const none = labels.subarray(from, from + m).indexOf(NONE)
    const end = from + (none < 0 ? m : none)
    return { ids: Array.from(labels.subarray(from, end)), distances: Array.from(distances.subarray(from, end)) }
  })
}
