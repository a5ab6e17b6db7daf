/** Files that end in .gz, unpacked when they are opened: gzip can only be read from its beginning. */
import { Gzip } from 'fflate'
import type { ByteSink, ByteSource } from '../core/bytes.ts'
import { LARGEST_GROWTH, SAFE_BYTES } from './npz.ts'
import { allocate, badFile } from './table.ts'

const INPUT_BYTES = 1 << 20

export async function gunzipped(source: ByteSource): Promise<ByteSource> {
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of inflated(source)) {
      pieces.push(piece)
      size += piece.length
      if (size > SAFE_BYTES && size > LARGEST_GROWTH * source.size) {
        throw badFile(
          source,
          ` grows from ${source.size} to more than ${size} bytes, which looks like a damaged or malicious file: unpack it with gunzip if it is right.`,
        )
      }
    }
  } finally {
    await source.close()
  }
  const bytes = allocate('u8', size, source.name)
  let filled = 0
  for (const piece of pieces) {
    bytes.set(piece, filled)
    filled += piece.length
  }
  return {
    name: source.name,
    size,
    async read(start, end) {
      if (end > size) throw badFile(source, ` ends at byte ${size} when unpacked: bytes up to ${end} were expected.`)
      return bytes.slice(start, end)
    },
    close: async () => {},
  }
}

/** By the system's own decompressor, which checks lengths and CRC-32. */
async function* inflated(source: ByteSource): AsyncGenerator<Uint8Array> {
  let at = 0
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      if (at >= source.size) {
        controller.close()
        return
      }
      const end = Math.min(at + INPUT_BYTES, source.size)
      controller.enqueue((await source.read(at, end)) as Uint8Array<ArrayBuffer>)
      at = end
    },
  })
  const reader = packed.pipeThrough(new DecompressionStream('gzip')).getReader()
  for (;;) {
    let read: Awaited<ReturnType<typeof reader.read>>
    try {
      read = await reader.read()
    } catch (error) {
      const reason = String((error as Error)?.message ?? error).slice(0, 80)
      throw badFile(
        source,
        ` cannot be unpacked (${JSON.stringify(reason)}): it was cut, damaged, or is not gzip. Copy or save it again.`,
      )
    }
    if (read.done) return
    yield read.value
  }
}

/** Packs what is written. The same bytes each time: no date is stored. */
export function gzipSink(sink: ByteSink): ByteSink {
  let packed: Uint8Array[] = []
  const gzip = new Gzip({ level: 6, mtime: 0 }, (bytes) => packed.push(bytes))
  const flush = async (): Promise<void> => {
    const ready = packed
    packed = []
    for (const bytes of ready) if (bytes.length > 0) await sink.write(bytes)
  }
  return {
    name: sink.name,
    async write(bytes) {
      if (bytes.length > 0) gzip.push(bytes.slice())
      await flush()
    },
    async close() {
      gzip.push(new Uint8Array(0), true)
      await flush()
      await sink.close()
    },
    abort: () => sink.abort(),
  }
}
