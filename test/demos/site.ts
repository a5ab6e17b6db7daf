/** The built site on a small server, and a Chromium to visit it with. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Response,
} from 'playwright'
import { inject, onTestFinished } from 'vitest'
import { chromiumLaunchOptions } from '../../scripts/chromium.mjs'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.bin': 'application/octet-stream',
}

/** Pages share the machine with other tests. */
const PATIENCE = 90_000

export interface Site {
  /** Where the front page is, with a slash at the end. */
  readonly url: string
  /** The same files from a server that sends no headers of isolation. */
  readonly plainUrl: string
  readonly folder: string
  /** A page that reports what it complains about: see `complaints`. */
  visit(path: string, options?: BrowserContextOptions): Promise<Visit>
  /** The same in a browser that has no WebGPU. */
  visitWithoutGpu(path: string): Promise<Visit>
  /** The same in a browser of its own, whose GPU process can be made to crash. */
  visitToCrash(path: string): Promise<Visit & { crashGpu(): Promise<void> }>
  close(): Promise<void>
}

export interface Visit {
  readonly page: Page
  /** Errors and warnings of the console, and errors nobody caught. */
  readonly complaints: string[]
  /** Bytes of pages, scripts and styles that were loaded so far, each gzipped; data do not count. */
  weight(): Promise<number>
}

/** Serves the built site from a sub-folder, as many hosts do. */
export async function openSite(): Promise<Site> {
  const folder = inject('site')
  const isolated = await serve(folder, true)
  const plain = await serve(folder, false)
  const launch = await chromiumLaunchOptions()
  const browser = await chromium.launch(launch)
  const others: Browser[] = []
  const url = addressOf(isolated)
  const visit = async (from: Browser, path: string, options: BrowserContextOptions = {}): Promise<Visit> => {
    const context = await from.newContext({ reducedMotion: 'reduce', ...options })
    closeAfterTest(context)
    context.setDefaultTimeout(PATIENCE)
    const page = await context.newPage()
    const complaints: string[] = []
    const loaded: Response[] = []
    context.on('response', (response) => loaded.push(response))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(new URL(path, url).href)
    return { page, complaints, weight: () => weightOf(loaded) }
  }
  return {
    url,
    plainUrl: addressOf(plain),
    folder,
    visit: (path, options) => visit(browser, path, options),
    async visitWithoutGpu(path) {
      const args = [...launch.args.filter((flag) => !/webgpu/.test(flag)), '--disable-features=WebGPU,WebGPUService']
      const other = await chromium.launch({ ...launch, args })
      others.push(other)
      return visit(other, path)
    },
    async visitToCrash(path) {
      const other = await chromium.launch(launch)
      others.push(other)
      const crashGpu = async (): Promise<void> => {
        await (await other.newBrowserCDPSession()).send('Browser.crashGpuProcess')
      }
      return { ...(await visit(other, path)), crashGpu }
    },
    async close() {
      for (const one of [browser, ...others]) await one.close()
      for (const server of [isolated, plain]) {
        server.closeAllConnections()
        server.close()
      }
    },
  }
}

/** Pages that are left open go on working. Those that several tests share, from a hook, stay until the site is closed. */
function closeAfterTest(context: BrowserContext): void {
  try {
    onTestFinished(() => context.close())
  } catch {
    // No test is running.
  }
}

async function weightOf(loaded: readonly Response[]): Promise<number> {
  const program = loaded.filter((response) => /^http.*(\/|\.html|\.js|\.css)(\?.*)?$/.test(response.url()))
  const sizes = await Promise.all(program.map(async (response) => gzipSync(await response.body()).length))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Nothing but files: what any host of static files does. */
async function serve(folder: string, isolated: boolean): Promise<Server> {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
    const file = join(folder, normalize(path.replace(/^\/some\/folder\//, '/').replace(/\/$/, '/index.html')))
    const found = path.startsWith('/some/folder/') ? await stat(file).catch(() => undefined) : undefined
    if (!found?.isFile()) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
      'Content-Length': found.size,
      ...(isolated
        ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
        : {}),
    })
    createReadStream(file).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/folder/`
}
