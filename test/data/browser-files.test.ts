import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { openBlobOrUrl } from '../../src/platform/browser-files.ts'
import { failure } from './failure.ts'

const CONTENT = 'abcdefghij'
const servers: Server[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
})

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.npy`
}

/** Answers with the range asked for; `asked` collects the ranges. */
function ranges(content: () => string, asked: string[], headers: (from: number, to: number) => Record<string, string>) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const range = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '')
    asked.push(request.headers.range ?? 'whole')
    if (!range) return void response.end(content())
    const [from, to] = [Number(range[1]), Number(range[2])]
    response.writeHead(206, headers(from, to)).end(content().slice(from, to + 1))
  }
}

const text = async (bytes: Promise<Uint8Array>) => new TextDecoder().decode(await bytes)

describe('Blobs', () => {
  test('are read by slices', async () => {
    const source = await openBlobOrUrl(new File([CONTENT], 'dropped.npy'))
    expect([source.name, source.size]).toEqual(['dropped.npy', 10])
    expect(await text(source.read(2, 5))).toBe('cde')
    expect(await failure(() => source.read(5, 11))).toBe(
      'bad-file: "dropped.npy" ends at byte 10: bytes up to 11 were expected.',
    )
    expect((await openBlobOrUrl(new Blob([]))).name).toBe('the Blob')
  })

  test('that cannot be read any more', async () => {
    const blob = new File([CONTENT], 'gone.npy')
    blob.slice = () =>
      ({ arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')) }) as unknown as Blob
    const source = await openBlobOrUrl(blob)
    expect(await failure(() => source.read(0, 1))).toBe(
      'bad-file: Cannot read "gone.npy": it was moved, changed or locked since it was chosen; choose it again.',
    )
  })
})

describe('URLs', () => {
  test('are read by ranges where the server has them', async () => {
    const asked: string[] = []
    const url = await serve(
      ranges(
        () => CONTENT,
        asked,
        (from, to) => ({ 'Content-Range': `bytes ${from}-${to}/10` }),
      ),
    )
    const source = await openBlobOrUrl(url)
    expect([source.name, source.size]).toEqual([url, 10])
    expect(await text(source.read(2, 5))).toBe('cde')
    expect(await text(source.read(5, 5))).toBe('')
    expect(asked).toEqual(['bytes=0-0', 'bytes=2-4'])
  })

  test('are fetched once and whole where it has not', async () => {
    let requests = 0
    const url = await serve((_, response) => {
      requests++
      response.end(CONTENT)
    })
    const source = await openBlobOrUrl(new URL(url))
    expect(source.size).toBe(10)
    expect(await text(source.read(2, 5))).toBe('cde')
    expect(await text(source.read(0, 10))).toBe(CONTENT)
    expect(requests).toBe(1)
  })

  test.each([
    ['hides the length', () => ({})],
    ['counts compressed bytes', () => ({ 'Content-Range': 'bytes 0-0/5', 'Content-Encoding': 'br' })],
  ])('are fetched whole where the server %s', async (_, headers) => {
    const asked: string[] = []
    const source = await openBlobOrUrl(
      await serve(ranges(() => CONTENT, asked, headers as () => Record<string, string>)),
    )
    expect(source.size).toBe(10)
    expect(asked).toEqual(['bytes=0-0', 'whole'])
  })

  test('that change while they are read', async () => {
    let content = CONTENT
    const url = await serve(
      ranges(
        () => content,
        [],
        (from, to) => ({ 'Content-Range': `bytes ${from}-${to}/${content.length}` }),
      ),
    )
    const source = await openBlobOrUrl(url)
    content = 'abcdef'
    expect(await failure(() => source.read(0, 3))).toBe(
      `bad-file: "${url}" changed while it was being read: 10 bytes at first, 6 now; read it again.`,
    )
  })

  test('that are not there, or not allowed', async () => {
    const missing = await serve((_, response) => void response.writeHead(404).end('no'))
    expect(await failure(() => openBlobOrUrl(missing))).toBe(
      `bad-file: Cannot fetch "${missing}" (status 404): there is nothing there; check the address.`,
    )
    const forbidden = await serve((_, response) => void response.writeHead(403).end('no'))
    expect(await failure(() => openBlobOrUrl(forbidden))).toBe(
      `bad-file: Cannot fetch "${forbidden}" (status 403): the server refuses it.`,
    )
  })

  test('without a server, or cut off in the middle', async () => {
    const sentence = (url: string) =>
      `bad-file: Cannot fetch "${url}": check the address and the connection, and that the server allows this page (CORS).`
    expect(await failure(() => openBlobOrUrl('http://127.0.0.1:1/x.npy'))).toBe(sentence('http://127.0.0.1:1/x.npy'))
    const cut = await serve((_, response) => {
      response.writeHead(200, { 'Content-Length': '10' }).write('abc')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await failure(() => openBlobOrUrl(cut))).toBe(sentence(cut))
  })
})
