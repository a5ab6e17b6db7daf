/** The rows of a manifest as one source of vectors, read from the files of its shards on demand. */
import { platform } from '#platform'
import { path as checkPath } from '../core/arguments.ts'
import { trustedSource } from '../core/checked-source.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import { elementBytes, type VectorData, type VectorSource } from '../core/matrix.ts'
import { type DataRoots, openRoots } from './data-roots.ts'
import { examineRows, type Manifest, manifestOf, parseManifest, type ShardEntry } from './manifest.ts'
import { isObjectAddress, openObject } from './s3.ts'

/** Vectors of a manifest: see {@link openShards}. */
export interface ShardedVectors extends VectorSource {
  /** What the manifest says. */
  readonly manifest: Manifest
  /** @internal Where files may be opened. */
  readonly roots: DataRoots
}

/** Files that are open at the same time. */
const MOST_OPEN = 32

/**
 * Opens the vectors of a manifest that {@link writeShards} or `centroidal shard` made, as one source; close() it afterwards.
 * A run over it has the shards of the manifest, and the same result wherever they are processed. Files of vectors can be
 * given instead, in the current folder or below it; they are read once to make a manifest of them.
 *
 * @example
 * ```ts
 * import { blobs, openShards, writeShards, writeVectors } from 'centroidal'
 *
 * await writeVectors('part.npy', blobs({ rows: 90, cols: 4, clusters: 3 }).vectors)
 * await writeShards('parts.json', ['part.npy'], { rows: 50 })
 * const source = await openShards('parts.json')
 * source.rows // => 90
 * source.shards // => [50, 40]
 * await source.close?.()
 * ```
 */
export async function openShards(location: string | readonly string[]): Promise<ShardedVectors> {
  if (Array.isArray(location)) {
    return shardedVectors(await manifestOf('.', location), await openRoots(['.'], true), location.join(', '))
  }
  if (typeof location !== 'string') throw badArgument('the manifest', location, 'give a path, or a list of files.')
  checkPath(location, 'the path of the manifest')
  const bytes = isObjectAddress(location) ? await openObject(location) : await platform.openBytes(location)
  let manifest: Manifest
  try {
    manifest = parseManifest(await bytes.read(0, bytes.size), location)
  } finally {
    await bytes.close()
  }
  const { disk } = platform
  const folder = isObjectAddress(location)
    ? location.replace(/[^/]*$/, '')
    : (disk?.parentOf(disk.within('.', location)) ?? location)
  return shardedVectors(manifest, await openRoots([folder], true), location)
}

/** `name` is used in errors. */
export function shardedVectors(manifest: Manifest, roots: DataRoots, name: string): ShardedVectors {
  const { cols, type, shards } = manifest
  const files = new OpenFiles(roots, manifest)
  const firsts: number[] = []
  let rows = 0
  let zeroRow: number | undefined
  for (const shard of shards) {
    firsts.push(rows)
    if (shard.zeroRow !== undefined) zeroRow ??= rows + shard.zeroRow
    rows += shard.rows
  }
  const source: ShardedVectors = {
    rows,
    cols,
    type,
    name,
    shards: shards.map((shard) => shard.rows),
    known: { largest: shards.reduce((most, shard) => Math.max(most, shard.largest), 0), zeroRow },
    manifest,
    roots,
    async read(start, end) {
      const out = allocate(type, (end - start) * cols)
      for (let row = start, at = lastAtMost(firsts, start); row < end; at++) {
        const last = Math.min(end, firsts[at] + shards[at].rows)
        if (last <= row) continue
        const data = await files.read(shards[at], row - firsts[at], last - firsts[at])
        if (row === start && last === end) return data
        out.set(data, (row - start) * cols)
        row = last
      }
      return out
    },
    async close() {
      await files.close()
      await roots.close()
    },
  }
  return trustedSource(source) as ShardedVectors
}

/** Reads a shard and compares it with the manifest. */
export async function verifyShard(roots: DataRoots, manifest: Manifest, shard: ShardEntry, signal?: AbortSignal) {
  const source = await roots.open(shard.file)
  try {
    requireShape(source, manifest, shard)
    const { checksum } = await examineRows(source, shard.first, shard.rows, signal)
    if (checksum === shard.checksum) return
    throw new CentroidalError(
      'bad-data',
      `Rows ${shard.first} to ${shard.first + shard.rows} of ${source.name} differ from the manifest (checksum ${checksum}, ${shard.checksum} expected): copy the file again, or create the manifest again.`,
    )
  } finally {
    await source.close?.()
  }
}

function requireShape(source: VectorSource, { cols, type }: Manifest, { first, rows }: ShardEntry): void {
  if (source.cols === cols && source.type === type && source.rows >= first + rows) return
  throw new CentroidalError(
    'bad-data',
    `${source.name} has ${source.rows} rows of ${source.cols} columns (${source.type}), the manifest lists rows up to ${first + rows} of ${cols} columns (${type}): copy the file again, or create the manifest again.`,
  )
}

class OpenFiles {
  readonly #roots: DataRoots
  readonly #manifest: Manifest
  /** In the order in which they were last used. */
  readonly #open = new Map<string, Promise<VectorSource>>()

  constructor(roots: DataRoots, manifest: Manifest) {
    this.#roots = roots
    this.#manifest = manifest
  }

  async read(shard: ShardEntry, first: number, end: number): Promise<VectorData> {
    const source = await this.#source(shard)
    return source.read(shard.first + first, shard.first + end)
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const source of open) await (await source.catch(() => undefined))?.close?.()
  }

  #source(shard: ShardEntry): Promise<VectorSource> {
    const known = this.#open.get(shard.file)
    if (known) {
      this.#open.delete(shard.file)
      this.#open.set(shard.file, known)
      return known
    }
    const opening = this.#roots.open(shard.file).then((source) => {
      requireShape(source, this.#manifest, shard)
      return source
    })
    this.#open.set(shard.file, opening)
    opening.catch(() => this.#open.delete(shard.file))
    const [oldest] = this.#open.keys()
    if (this.#open.size > MOST_OPEN) {
      const closing = this.#open.get(oldest)
      this.#open.delete(oldest)
      // Reads that are under way come first.
      setTimeout(() => closing?.then((source) => source.close?.()).catch(() => {}), 10_000).unref?.()
    }
    return opening
  }
}

function allocate(type: 'f32' | 'u8', length: number): VectorData {
  return type === 'u8' ? new Uint8Array(length) : new Float32Array(new ArrayBuffer(length * elementBytes(type)))
}

/** The last of the rising numbers that is not larger. */
function lastAtMost(numbers: readonly number[], value: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (numbers[middle] <= value) low = middle
    else high = middle - 1
  }
  return low
}
