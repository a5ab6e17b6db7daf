/** Threads on hosts that send no headers: see isolation-worker.ts. Without it the page works with one thread. */

const TRIED = 'isolation-tried'
const PATIENCE = 2000

/**
 * Resolves with false if the page is about to load again, isolated. That happens once, before anything was done on the
 * page, and never where the server sends the headers itself.
 */
export async function isolate(root: string): Promise<boolean> {
  if (globalThis.crossOriginIsolated || !isSecureContext || !('serviceWorker' in navigator)) return true
  try {
    if (sessionStorage.getItem(TRIED)) return true
    sessionStorage.setItem(TRIED, 'yes')
    if (!(await Promise.race([registered(root), patience()]))) return true
    location.reload()
    return false
  } catch {
    // Private windows may refuse either. One thread will do.
    return true
  }
}

async function registered(root: string): Promise<boolean> {
  await navigator.serviceWorker.register(`${root}isolation-worker.js`, { scope: root })
  await navigator.serviceWorker.ready
  return true
}

/** Some browsers neither take a service worker nor refuse it. */
function patience(): Promise<boolean> {
  return new Promise((resolve) => setTimeout(() => resolve(false), PATIENCE))
}
