/** What assign and encode do with shards. */
import {
  CentroidalError,
  type MachinePool,
  type ShardedVectors,
  type ShardOutput,
  type ShardWorkOptions,
} from '../../index.ts'
import { count, duration, number } from '../format.ts'
import { type MachineReport, MachineWatch } from '../machine-watch.ts'
import { createProgressView, type ProgressView } from '../progress/view.ts'
import { Interrupted, type Session } from '../session.ts'
import type { MachineFlags, SpeechFlags } from './shared-options.ts'

interface WorkFlags extends MachineFlags, SpeechFlags {
  readonly suffix?: string
}

/** Workers write files next to the shards; their names are printed. */
export async function shardWork(
  session: Session,
  source: ShardedVectors,
  flags: WorkFlags,
  label: string,
  work: (pool: MachinePool, control: ShardWorkOptions) => Promise<ShardOutput[]>,
): Promise<void> {
  const began = performance.now()
  const { outputs, workers } = await withMachines(session, flags, label, (pool, control) =>
    work(pool, { ...control, ...(flags.suffix === undefined ? {} : { suffix: flags.suffix }) }),
  )
  const seconds = (performance.now() - began) / 1000
  const { rows } = source
  await source.close?.()
  const squares = outputs.reduce((sum, output) => sum + (output.squares ?? Number.NaN), 0)
  const distortion = Number.isNaN(squares) ? {} : { distortion: squares / rows }
  const files = outputs.map(({ file }) => file)
  if (flags.json) session.stdout.json({ type: 'result', rows, ...distortion, seconds, files, workers })
  else if (!flags.quiet) {
    session.stdout.line(`Wrote ${count(files.length, 'file')} for ${count(rows, 'vector')} in ${duration(seconds)}.`)
    if (distortion.distortion !== undefined) session.stdout.line(`  distortion  ${number(distortion.distortion)}`)
    for (const file of files.slice(0, 10)) session.stdout.line(`  ${file}`)
    if (files.length > 10) session.stdout.line(`  and ${number(files.length - 10)} more`)
  }
}

export function requireOut(out: string | undefined): string {
  if (out !== undefined) return out
  throw new CentroidalError('bad-option', 'Option --out is missing: see --help.')
}

async function withMachines(
  session: Session,
  flags: MachineFlags & SpeechFlags,
  label: string,
  work: (pool: MachinePool, control: ShardWorkOptions) => Promise<ShardOutput[]>,
): Promise<{ outputs: ShardOutput[]; workers: MachineReport['workers'] }> {
  const signal = session.interruption()
  const view: ProgressView = createProgressView(session.stderr, flags.quiet === true, signal)
  let watch: MachineWatch | undefined
  try {
    watch = await MachineWatch.open(flags, session, (text) => view.tell(text))
    if (watch === undefined) throw new CentroidalError('bad-option', 'Option --on is missing.')
    const outputs = await work(watch.pool, { signal, onProgress: (share) => view.show({ label, share }) })
    return { outputs, workers: watch.report().workers }
  } catch (error) {
    if (!session.interrupted) throw error
    throw new Interrupted('Interrupted: the files written so far are kept; run the command again to write the others.')
  } finally {
    view.stop()
    await watch?.close()
  }
}
