import type { ByteSource } from '../../src/core/bytes.ts'
import type { Encoder, StoredData } from '../../src/data/table.ts'

export interface MemorySource extends ByteSource {
  /** Bytes given out so far. */
  bytesRead(): number
}

export function memorySource(name: string, content: Uint8Array | string): MemorySource {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  let given = 0
  return {
    name,
    size: bytes.length,
    async read(start, end) {
      if (start < 0 || end > bytes.length) throw new RangeError(`${start} to ${end} of ${bytes.length} bytes`)
      given += end - start
      return bytes.slice(start, end)
    },
    close: async () => {},
    bytesRead: () => given,
  }
}

export function encoded(encoder: Encoder, ...pieces: StoredData[]): Uint8Array {
  return concat(encoder.head, ...pieces.map((piece) => encoder.encode(piece)))
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** int32, little-endian. */
export function int32(value: number): Uint8Array {
  return new Uint8Array(Int32Array.of(value).buffer)
}
