/** `centroidal cluster`: from a file of vectors to a folder with centres, labels and a report. */
import type { Command } from 'commander'
import { type ClusterModel, clusterSteps, type VectorSource } from '../../index.ts'
import { count } from '../format.ts'
import { inputName, inputTitle, openInput, typedInput, VECTOR_FILES } from '../input-files.ts'
import { type MachineReport, MachineWatch } from '../machine-watch.ts'
import { membersOf } from '../members.ts'
import { OutFolder } from '../out-folder.ts'
import { ClusterProgress } from '../progress/cluster-progress.ts'
import { createProgressView } from '../progress/view.ts'
import { clusterPage } from '../report/cluster-page.ts'
import { machineNotes } from '../report/machines.ts'
import { MixtureCourse } from '../report/mixture.ts'
import { clusterRun, type RunNotes, saveRun } from '../run-folder.ts'
import { Interrupted, quoted, type Session } from '../session.ts'
import { agreement, confusionOf } from '../truth.ts'
import { type ClusterInputs, defined, readInputs, withNames } from './cluster-inputs.ts'
import { addClusterOptions, type ClusterFlags } from './cluster-options.ts'
import { resultObject, tellResult } from './cluster-result.ts'
import { methodList } from './method-flags.ts'
import { openChosenDevice } from './shared-options.ts'

export function addClusterCommand(program: Command, session: Session): void {
  const command = program
    .command('cluster')
    .summary('cluster vectors and write a folder with the result')
    .description(
      'Groups vectors into k clusters around their means, and writes centres, labels and a report with charts into a folder. Ctrl-C saves the rounds so far; --resume continues from there.',
    )
    .argument('<vectors...>', `the vectors: ${VECTOR_FILES}`)
    .action((vectors: string[], flags: ClusterFlags) => clusterFiles(session, vectors, flags))
    .addHelpText(
      'after',
      `
Methods:
${methodList()}

Example:
  centroidal cluster vectors.npy -k 1000 --out run
  centroidal cluster digits.npy -k 64 --truth classes.npy --image 28x28 --out run
  centroidal cluster vectors.npy -k 1000 --method canopy --canopy-radius 0.8
  centroidal cluster vectors.npy -k auto --out run
  centroidal cluster part-*.parquet -k 1000 --columns embedding --out run
  centroidal cluster table.csv -k 10 --columns height,weight
  gunzip -c words.vec.gz | centroidal cluster - -k 100
  centroidal cluster vectors.npy --resume run --iterations 300
  centroidal cluster shards.json -k 100000 --on redis://store --out run`,
    )
  addClusterOptions(command)
}

export async function clusterFiles(session: Session, files: readonly string[], flags: ClusterFlags): Promise<void> {
  const source = await withNames(await openInput(session, files, flags), flags.names)
  try {
    const inputs = await readInputs(flags, source)
    const out = await OutFolder.claim(flags.out ?? flags.resume ?? 'run')
    const began = performance.now()
    const circles = new MixtureCourse(source)
    const { model, machines } = await run(session, source, inputs, flags, out, circles)
    const seconds = (performance.now() - began) / 1000
    const interrupted = session.interrupted
    const { truth } = inputs
    const agreed = truth && agreement(model.labels, truth)
    const { title = inputTitle(files), image } = flags
    const file = inputName(files)
    const members = await membersOf(source, model)
    await saveRun(out, model, async () => {
      const confusion = truth && confusionOf(model.labels, truth, model.facts.k)
      const notes: RunNotes = {
        ...defined({ image, confusion, agreement: agreed, sparseEntries: source.sparse?.values.length }),
        ...defined({ mixture: await circles.drawn(), members, machines: machines && machineNotes(machines) }),
        ...{ title, file, commandLine: session.commandLine, elements: source.type, seconds },
      }
      return { notes, page: await clusterPage(title, clusterRun(out.path, model, notes)) }
    })
    const result = { model, seconds, out: out.path, agreement: agreed, members, machines }
    if (flags.json) session.stdout.json(resultObject(result))
    else if (!flags.quiet) tellResult(session.stdout, result)
    if (interrupted) throw savedInterruption(model, files, out, machines)
  } finally {
    await source.close?.()
  }
}

async function run(
  session: Session,
  source: VectorSource,
  { options, limits }: ClusterInputs,
  flags: ClusterFlags,
  out: OutFolder,
  circles: MixtureCourse,
): Promise<{ model: ClusterModel; machines: MachineReport | undefined }> {
  const signal = session.interruption()
  const progress = new ClusterProgress(createProgressView(session.stderr, flags.quiet === true, signal), limits)
  const device = await openChosenDevice(flags)
  let watch: MachineWatch | undefined
  try {
    watch = await MachineWatch.open(flags, session, (text, workers) => progress.tell(text, workers))
    const steps = clusterSteps(source, {
      ...options,
      ...(watch && { on: watch.pool }),
      device,
      signal,
      onProgress: (share, phase = '') => progress.phase(phase, share),
      ...(flags.checkpointEvery === undefined
        ? {}
        : { checkpoint: { every: flags.checkpointEvery, save: (model) => out.save(model) } }),
    })
    for (;;) {
      const step = await steps.next()
      if (step.done) return { model: step.value, machines: watch?.report() }
      progress.round(step.value)
      await circles.take(step.value)
      if (flags.json) {
        const { iteration, distortion, moved, candidates, seconds, restart, extra } = step.value
        session.stdout.json({ type: 'iteration', iteration, distortion, moved, candidates, seconds, restart, ...extra })
      }
    }
  } catch (error) {
    if (!session.interrupted) throw error
    throw new Interrupted(
      out.saved
        ? `Interrupted: the last checkpoint is in ${out.path}.`
        : 'Interrupted before the first round was complete: nothing was written.',
    )
  } finally {
    progress.stop()
    await watch?.close()
    await device.close()
  }
}

function savedInterruption(
  model: ClusterModel,
  files: readonly string[],
  out: OutFolder,
  machines: MachineReport | undefined,
): Interrupted {
  const rounds = count(model.facts.iterations.length, 'round')
  const on = machines ? ` --on ${quoted(machines.store)}` : ''
  return new Interrupted(
    `Interrupted after ${rounds}: the result so far is in ${out.path}; continue with centroidal cluster ${typedInput(files)} --resume ${quoted(out.path)}${on}`,
  )
}
