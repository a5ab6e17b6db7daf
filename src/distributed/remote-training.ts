/** The training of a quantizer whose shards other processes own, as the leading process sees it. */
import type { RemoteTraining, TrainingTask, TrainingTasks } from '../quantize/trainer.ts'
import { commandKey, type Payload, type Place, type Report } from './messages.ts'
import { RoundMeter, type RoundTraffic } from './round-traffic.ts'
import type { RunShards } from './run-shards.ts'
import { checkTrainingAnswer, type TrainingBlob } from './training-messages.ts'

export class RemoteTrainingRun implements RemoteTraining {
  readonly #shards: RunShards
  readonly #blob: TrainingBlob
  readonly #signal: AbortSignal | undefined
  readonly #meter: RoundMeter
  #seq = 0
  #rounds = 0

  constructor(
    shards: RunShards,
    blob: TrainingBlob,
    signal: AbortSignal | undefined,
    onRound: (traffic: RoundTraffic) => void,
  ) {
    this.#shards = shards
    this.#blob = blob
    this.#signal = signal
    this.#meter = new RoundMeter(shards, onRound)
  }

  async ask<N extends TrainingTask>(
    name: N,
    args: TrainingTasks[N]['args'],
    onProgress?: (share: number) => void,
  ): Promise<readonly TrainingTasks[N]['result'][]> {
    const signal = this.#signal
    signal?.throwIfAborted()
    await this.#shards.rebalance()
    const { traffic } = this.#shards
    const seq = ++this.#seq
    const task = { name, args: args as Payload['task']['args'] }
    const payload = await traffic.put(commandKey(seq), { notes: [], task, whole: true } satisfies Payload, true)
    const places: Place[] = [payload]
    const answers: TrainingTasks[N]['result'][] = []
    const collect = async (report: Report): Promise<void> => {
      const what = `the answer of ${report.name}`
      const place = report.answer as Place
      const value = await traffic.get(place, what)
      places.push(place)
      answers.push(checkTrainingAnswer(name, value, what, this.#blob) as TrainingTasks[N]['result'])
    }
    // Workers that take over shards repeat nothing, because every command is self-contained.
    const command = { seq, payload, base: seq, log: [] }
    await this.#shards.run(command, collect, { signal, onShare: onProgress, patience: undefined })
    signal?.throwIfAborted()
    traffic.discard(places.map(({ inline: _, ...place }) => place))
    if (name === 'sums') this.#meter.end(++this.#rounds)
    return answers
  }

  close(): Promise<void> {
    return this.#shards.close()
  }
}
