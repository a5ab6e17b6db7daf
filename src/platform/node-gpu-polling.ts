/**
 * Dawn asks for the state of the GPU through `setImmediate`, again and again while it waits, and so
 * keeps a whole core busy; on a software adapter that is a core the shader could use. Eager polling
 * for the first millisecond and then once a millisecond costs nothing on short work and made software
 * adapters 1.4 to 1.8 times faster. Only Dawn's own callbacks, nameless native functions, are slowed.
 */
const EAGER_MS = 1
const QUIET_MS = 5

const patched = Symbol.for('centroidal.calm-polling')

type SetImmediate = typeof globalThis.setImmediate & { [patched]?: true }

export function calmPolling(): void {
  const original = globalThis.setImmediate as SetImmediate
  if (original[patched]) return
  let waitingSince = 0
  let lastCall = 0
  const calm = (callback: (...args: unknown[]) => void, ...args: unknown[]): unknown => {
    if (callback.name !== '' || !isNative(callback)) return original(callback, ...args)
    const now = performance.now()
    if (now - lastCall > QUIET_MS) waitingSince = now
    lastCall = now
    return now - waitingSince < EAGER_MS ? original(callback, ...args) : setTimeout(callback, 1, ...args)
  }
  // util.promisify finds the promise form of setImmediate on the function itself.
  const replacement = Object.assign(calm, original, { [patched]: true })
  for (const symbol of Object.getOwnPropertySymbols(original)) {
    const descriptor = Object.getOwnPropertyDescriptor(original, symbol)
    if (descriptor) Object.defineProperty(replacement, symbol, descriptor)
  }
  globalThis.setImmediate = replacement as unknown as typeof globalThis.setImmediate
}

function isNative(callback: unknown): boolean {
  return Function.prototype.toString.call(callback).endsWith('{ [native code] }')
}
