/** Some rows of a source, drawn by a seed, as a source of their own. */
import { whole } from './arguments.ts'
import { trustedSource } from './checked-source.ts'
import { badArgument } from './errors.ts'
import type { VectorSource } from './matrix.ts'
import { sampleDistinct } from './random.ts'
import { stream } from './streams.ts'

/** Rows closer together than this are read with one request. */
const NEAR = 16
/** Most rows that are read at once. */
const MOST_AT_ONCE = 4096

/**
 * Rows of a source, drawn without repetition, in their order: the same ones for the same seed and number, whoever reads them.
 * All rows if there are no more.
 *
 * @example
 * ```ts
 * import { sampleRows } from 'centroidal'
 *
 * sampleRows(5, 9, 1) // => [0, 1, 2, 3, 4]
 * sampleRows(1_000_000, 100, 1).length // => 100
 * ```
 */
export function sampleRows(rows: number, count: number, seed: number): Uint32Array {
  whole(1)(rows, 'the number of vectors')
  whole(1)(count, 'the size of the sample')
  whole(0)(seed, 'the seed')
  if (rows > 2 ** 32) throw badArgument('the number of vectors', rows, 'give at most 2^32 to draw a sample from.')
  if (count >= rows) return Uint32Array.from({ length: rows }, (_, i) => i)
  return Uint32Array.from(sampleDistinct(stream(seed, 'sample of shards'), rows, count)).sort()
}

/** The source itself if it has no more rows than that. Its shards have the rows of the sample that lie in them. */
export function sampledSource(source: VectorSource, count: number, seed: number): VectorSource {
  if (count >= source.rows) return source
  const wanted = sampleRows(source.rows, count, seed)
  const { cols, type, name } = source
  return trustedSource({
    rows: wanted.length,
    cols,
    type,
    name,
    ...(source.known ? { known: { largest: source.known.largest } } : {}),
    ...(source.shards ? { shards: rowsWithin(wanted, source.shards) } : {}),
    async read(start, end) {
      const out = type === 'u8' ? new Uint8Array((end - start) * cols) : new Float32Array((end - start) * cols)
      for (let i = start; i < end; ) {
        let last = i + 1
        while (last < end && wanted[last] - wanted[last - 1] <= NEAR && wanted[last] - wanted[i] < MOST_AT_ONCE) last++
        const first = wanted[i]
        const data = await source.read(first, wanted[last - 1] + 1)
        for (; i < last; i++) {
          const at = (wanted[i] - first) * cols
          out.set(data.subarray(at, at + cols), (i - start) * cols)
        }
      }
      return out
    },
    close: async () => source.close?.(),
  })
}

/** How many of the rising numbers lie in each of the shards, which follow each other. */
function rowsWithin(wanted: Uint32Array, shards: readonly number[]): number[] {
  let end = 0
  let next = 0
  return shards.map((rows) => {
    end += rows
    const before = next
    while (next < wanted.length && wanted[next] < end) next++
    return next - before
  })
}
