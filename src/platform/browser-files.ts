/** Blobs and URLs as bytes. Uses only what pages and Node share (Blob, fetch), so it works in both. */
import type { ByteSource, FileLocation } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'

/** A Blob is read by slices, a URL by ranges when its server has them, otherwise whole. */
export async function openBlobOrUrl(location: FileLocation): Promise<ByteSource> {
  return location instanceof Blob ? blobSource(location) : openUrl(String(location))
}

function blobSource(blob: Blob): ByteSource {
  const name = (blob as Partial<File>).name ?? 'the Blob'
  return source(name, blob.size, async (start, end) => {
    try {
      return new Uint8Array(await blob.slice(start, end).arrayBuffer())
    } catch (error) {
      // Browsers refuse a File whose file on disk was changed or removed after it was chosen.
      throw new CentroidalError(
        'bad-file',
        `Cannot read ${JSON.stringify(name)}: it was moved, changed or locked since it was chosen; choose it again.`,
        { cause: error },
      )
    }
  })
}

async function openUrl(url: string): Promise<ByteSource> {
  // Asking for one byte tells whether ranges work and, in Content-Range, how long the whole is. A server that
  // refuses the header across origins makes fetch fail: then, as without ranges, the whole is fetched.
  const probe = await fetch(url, { headers: { Range: 'bytes=0-0' } }).catch(() => undefined)
  if (probe?.status === 200) return wholeSource(url, await bodyOf(probe, url))
  const size = probe?.status === 206 ? rangedSize(probe) : undefined
  await probe?.body?.cancel()
  if (size !== undefined) return rangedSource(url, size)
  return wholeSource(url, await bodyOf(await fetchOrExplain(url), url))
}

/** The length of the whole, unless the server hides it or counts compressed bytes. */
function rangedSize(response: Response): number | undefined {
  const encoding = response.headers.get('Content-Encoding') ?? 'identity'
  const total = /\/(\d+)\s*$/.exec(response.headers.get('Content-Range') ?? '')?.[1]
  return total === undefined || encoding !== 'identity' ? undefined : Number(total)
}

function wholeSource(url: string, bytes: Uint8Array): ByteSource {
  return source(url, bytes.length, async (start, end) => bytes.slice(start, end))
}

function rangedSource(url: string, size: number): ByteSource {
  return source(url, size, async (start, end) => {
    const response = await fetchOrExplain(url, `bytes=${start}-${end - 1}`)
    const bytes = await bodyOf(response, url)
    const total = response.status === 206 ? rangedSize(response) : bytes.length
    const wanted = response.status === 206 ? bytes : bytes.subarray(start, end)
    if (total !== size || wanted.length !== end - start) {
      throw new CentroidalError(
        'bad-file',
        `${JSON.stringify(url)} changed while it was being read: ${size} bytes at first, ${total ?? 'an unknown number'} now; read it again.`,
      )
    }
    return wanted
  })
}

function source(name: string, size: number, read: (start: number, end: number) => Promise<Uint8Array>): ByteSource {
  return {
    name,
    size,
    async read(start, end) {
      if (end > size) {
        throw new CentroidalError(
          'bad-file',
          `${JSON.stringify(name)} ends at byte ${size}: bytes up to ${end} were expected.`,
        )
      }
      // A range of no bytes cannot be written as an HTTP header.
      return start === end ? new Uint8Array(0) : read(start, end)
    },
    async close() {},
  }
}

async function fetchOrExplain(url: string, range?: string): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, range === undefined ? {} : { headers: { Range: range } })
  } catch (error) {
    throw cannotFetch(url, error)
  }
  if (response.ok) return response
  await response.body?.cancel()
  const cure = response.status === 404 ? 'there is nothing there; check the address.' : 'the server refuses it.'
  throw new CentroidalError('bad-file', `Cannot fetch ${JSON.stringify(url)} (status ${response.status}): ${cure}`)
}

async function bodyOf(response: Response, url: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    throw cannotFetch(url, error)
  }
}

function cannotFetch(url: string, error: unknown): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `Cannot fetch ${JSON.stringify(url)}: check the address and the connection, and that the server allows this page (CORS).`,
    { cause: error },
  )
}
