/** What assign, encode and quantize do with shards. */
import {
  CentroidalError,
  type MachinePool,
  matrix,
  type ShardedVectors,
  type ShardOutput,
  type ShardWorkOptions,
  sampleRows,
  type VectorInput,
  type VectorSource,
} from '../../index.ts'
import { MachineWatch } from '../machine-watch.ts'
import { createProgressView, type ProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { count, duration, number } from '../words.ts'
import type { MachineFlags, SpeechFlags } from './shared-options.ts'

/** Vectors that a quantizer learns from, of a manifest, where nothing else is said. */
const SAMPLE = 1_000_000

interface WorkFlags extends MachineFlags, SpeechFlags {
  readonly suffix?: string
}

/** Workers write files next to the shards; tells which. */
export async function shardWork(
  session: Session,
  source: ShardedVectors,
  flags: WorkFlags,
  label: string,
  work: (pool: MachinePool, control: ShardWorkOptions) => Promise<ShardOutput[]>,
): Promise<void> {
  const began = performance.now()
  const outputs = await withMachines(session, flags, label, (pool, control) =>
    work(pool, { ...control, ...(flags.suffix === undefined ? {} : { suffix: flags.suffix }) }),
  )
  const seconds = (performance.now() - began) / 1000
  const { rows } = source
  await source.close?.()
  const squares = outputs.reduce((sum, output) => sum + (output.squares ?? Number.NaN), 0)
  const distortion = Number.isNaN(squares) ? {} : { distortion: squares / rows }
  const files = outputs.map(({ file }) => file)
  if (flags.json) session.stdout.json({ type: 'result', rows, ...distortion, seconds, files })
  else if (!flags.quiet) {
    session.stdout.line(`Wrote ${count(files.length, 'file')} for ${count(rows, 'vector')} in ${duration(seconds)}.`)
    if (distortion.distortion !== undefined) session.stdout.line(`  distortion  ${number(distortion.distortion)}`)
    for (const file of files.slice(0, 10)) session.stdout.line(`  ${file}`)
    if (files.length > 10) session.stdout.line(`  and ${number(files.length - 10)} more`)
  }
}

/** What a quantizer learns from: the file, or a sample of the shards. The same sample with other machines and without. */
export async function trainingVectors(
  session: Session,
  source: VectorSource,
  flags: MachineFlags & SpeechFlags & { readonly sample?: number; readonly seed?: number },
): Promise<VectorInput> {
  const { sample = SAMPLE, seed = 0 } = flags
  if (source.shards === undefined) {
    if (flags.sample === undefined) return source
    throw new CentroidalError('bad-option', 'Option --sample is for manifests of shards: leave it out.')
  }
  const shards = source as ShardedVectors
  if (flags.on !== undefined) {
    return withMachines(session, flags, 'sampling the vectors', (pool, control) =>
      pool.sample(shards, sample, seed, control),
    )
  }
  const wanted = sampleRows(source.rows, sample, seed)
  const { cols, type } = source
  const data = type === 'u8' ? new Uint8Array(wanted.length * cols) : new Float32Array(wanted.length * cols)
  for (const [i, row] of wanted.entries()) data.set(await source.read(row, row + 1), i * cols)
  return matrix(data, wanted.length, cols)
}

export function requireOut(out: string | undefined): string {
  if (out !== undefined) return out
  throw new CentroidalError('bad-option', 'Option --out is needed, and --help shows how.')
}

async function withMachines<T>(
  session: Session,
  flags: MachineFlags & SpeechFlags,
  label: string,
  work: (pool: MachinePool, control: ShardWorkOptions) => Promise<T>,
): Promise<T> {
  const signal = session.interruption()
  const view: ProgressView = createProgressView(session.stderr, flags.quiet === true, signal)
  const watch = await MachineWatch.open(flags, session, (text) => view.tell(text))
  if (watch === undefined) throw new CentroidalError('bad-option', 'Option --on is missing.')
  try {
    return await work(watch.pool, { signal, onProgress: (share) => view.show({ label, share }) })
  } finally {
    view.stop()
    await watch.close()
  }
}
