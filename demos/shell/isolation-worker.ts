/**
 * A service worker for hosts that cannot send headers: it adds those that make a page cross-origin isolated, so that
 * threads can share memory. It keeps nothing and changes nothing else.
 */
interface FetchEventLike extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}
interface ServiceWorkerLike extends EventTarget {
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
}

const worker = self as unknown as ServiceWorkerLike

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('activate', (event) =>
  (event as Event & { waitUntil(done: Promise<void>): void }).waitUntil(worker.clients.claim()),
)
worker.addEventListener('fetch', (event) => {
  const { request, respondWith } = event as FetchEventLike
  if (new URL(request.url).origin !== location.origin) return
  respondWith.call(event, isolated(request))
})

async function isolated(request: Request): Promise<Response> {
  const response = await fetch(request)
  // An opaque or redirected answer has no headers that could be set.
  if (response.status === 0) return response
  const headers = new Headers(response.headers)
  headers.set('Cross-Origin-Opener-Policy', 'same-origin')
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp')
  headers.set('Cross-Origin-Resource-Policy', 'same-origin')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
