/** The end of a run, in words and as JSON. */
import { join } from 'node:path'
import type { ClusterModel } from '../../index.ts'
import {
  candidateWords,
  count,
  duration,
  methodReason,
  number,
  settingsWords,
  startName,
  startWords,
  stopWords,
} from '../format.ts'
import { type MachineReport, machineWords } from '../machine-watch.ts'
import type { Members } from '../members.ts'
import type { Output } from '../session.ts'
import { sizeHistogram, summarizeSizes } from '../sizes.ts'
import { type Agreement, entropyWords, nmiWords, purityWords } from '../truth.ts'

export interface ClusterResult {
  readonly model: ClusterModel
  /** Wall time of the clustering, without reading the options' files and writing the result. */
  readonly seconds: number
  readonly out: string
  readonly agreement: Agreement | undefined
  readonly members: readonly Members[] | undefined
  readonly machines?: MachineReport | undefined
}

/** Number of clusters whose members are printed; the report has more. */
const MOST_TOLD = 5

export function resultObject({ model, seconds, out, agreement, members, machines }: ClusterResult): object {
  const { method, metric, k, rows, cols, seed, stopped, iterations, device, options, certainty } = model.facts
  return {
    type: 'result',
    method,
    ...(options.methodReason === undefined ? {} : { methodReason: options.methodReason }),
    settings: options.settings ?? {},
    start: startName(model.facts),
    metric,
    k,
    rows,
    cols,
    seed,
    distortion: model.distortion,
    iterations: iterations.length,
    candidates: iterations[iterations.length - 1].candidates,
    ...iterations[iterations.length - 1].extra,
    ...(certainty && { certainty }),
    stopped,
    seconds,
    device: device.kind,
    deviceName: device.name,
    deviceReason: device.reason,
    out,
    ...(machines && { machines }),
    ...agreement,
    ...(members && { members }),
  }
}

export function tellResult(stdout: Output, result: ClusterResult): void {
  const { model, seconds, out, agreement, members, machines } = result
  const { facts, sizes } = model
  const { bold, dim } = stdout.colors
  const { smallest, median, largest, empty } = summarizeSizes(sizes)
  const row = (name: string, value: string): void => stdout.line(`  ${dim(name.padEnd(10))}  ${value}`)
  stdout.line(
    bold(
      `${count(facts.k, 'cluster')} of ${count(facts.rows, 'vector')} with ${count(facts.cols, 'dimension')}, in ${duration(seconds)}`,
    ),
  )
  row('distortion', `${bold(number(model.distortion))}, the mean squared distance of a vector to its centre`)
  const { logLikelihood } = facts.iterations[facts.iterations.length - 1].extra ?? {}
  if (logLikelihood !== undefined)
    row('likelihood', `${number(logLikelihood)}, mean log-likelihood of a vector, in nats`)
  if (facts.certainty) row('number', facts.certainty.sentence)
  row('stopped', `after ${count(facts.iterations.length, 'round')} of ${facts.method}: ${stopWords(facts)}`)
  const reason = methodReason(facts)
  if (reason !== '') row('', dim(reason))
  row('started', `from ${startWords(facts)}`)
  const settings = settingsWords(facts)
  if (settings !== '') row('settings', settings)
  row('evaluated', candidateWords(facts))
  row('sizes', `${number(smallest)} smallest, ${number(median)} median, ${number(largest)} largest`)
  if (largest > smallest) row('', `${sizeHistogram(sizes)}  ${dim('clusters by size, small to large')}`)
  if (empty > 0) row('', `${count(empty, 'cluster')} without a point`)
  row('device', facts.device.name)
  row('', dim(facts.device.reason))
  if (machines) for (const [i, text] of machineWords(machines).entries()) row(i === 0 ? 'workers' : '', text)
  if (agreement) {
    row('classes', purityWords(agreement))
    row('', nmiWords(agreement))
    row('', entropyWords(agreement))
  }
  for (const [i, { cluster, names }] of (members ?? []).slice(0, MOST_TOLD).entries()) {
    row(i === 0 ? 'members' : '', `${number(cluster)}: ${names.join(', ')}`.slice(0, 100))
  }
  const mixture = model.sigmas ? ['weights.npy', 'sigmas.npy'] : []
  row(
    'files',
    ['centers.npy', ...mixture, 'labels.npy', 'model.json', 'run.json'].map((name) => join(out, name)).join('  '),
  )
  row('report', bold(join(out, 'report.html')))
}
