/** What a worker does while a quantizer is trained. Commands carry all that is needed, so there is no state but the points. */
import { CentroidalError, show } from '../core/errors.ts'
import type { VectorSource } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import type { Codebooks, PartialCodeSums, ShardMoments } from '../quantize/training-points.ts'
import { TrainingPoints } from '../quantize/training-points.ts'
import { PointStore } from '../vectors/points.ts'
import type { Command, Payload } from './messages.ts'
import type { GroupAnswer } from './owned-groups.ts'
import type { Performer } from './performers.ts'
import type { Traffic } from './traffic.ts'
import { checkTrainingTask, rowsOfTraining, type TrainingBlob, trainingSource } from './training-messages.ts'

export interface TrainingContext {
  readonly blob: TrainingBlob
  readonly device: Device
  readonly source: VectorSource
  readonly traffic: Traffic
  readonly worker: string
  readonly signal: () => AbortSignal | undefined
}

interface OpenPoints {
  readonly groups: readonly number[]
  readonly points: PointStore
  readonly training: TrainingPoints
}

export class TrainingPerformer implements Performer {
  readonly #context: TrainingContext
  readonly #source: VectorSource
  #open: OpenPoints | undefined

  constructor(context: TrainingContext) {
    this.#context = context
    this.#source = trainingSource(context.blob, context.source)
  }

  async *perform({ groups, seq }: Command, payload: unknown): AsyncGenerator<GroupAnswer> {
    const { traffic, worker } = this.#context
    const { training } = await this.#opened(groups)
    const value = await this.#task(training, payload as Payload)
    // No two answers have the same name: those for other groups are other sums.
    const number = crypto.getRandomValues(new Uint32Array(1))[0]
    yield { groups, answer: await traffic.put(`a-${seq}-${worker}-${number}`, value) }
  }

  drop(): void {
    this.#open?.training.free()
    this.#open?.points.free()
    this.#open = undefined
  }

  async #task(
    training: TrainingPoints,
    { task: { name, args } }: Payload,
  ): Promise<readonly ShardMoments[] | { words: Uint32Array } | PartialCodeSums> {
    const { blob } = this.#context
    const signal = this.#context.signal()
    switch (name) {
      case 'moments':
        return training.moments(signal)
      case 'covariance':
        return { words: await training.covariance() }
      case 'sums':
        return training.partialSums(checkTrainingTask(name, args, blob) as Codebooks, { signal })
      default:
        throw new CentroidalError('bad-data', `${show(name)} is not a training task.`)
    }
  }

  /** The points of these groups. */
  async #opened(groups: readonly number[]): Promise<OpenPoints> {
    if (this.#open?.groups.join() === groups.join()) return this.#open
    this.drop()
    const { blob, device } = this.#context
    const { frame, layout } = blob.training
    const ranges = rowsOfTraining(blob, this.#source)
    const owned = new Set<number>()
    layout.shards.forEach(({ first, count }, shard) => {
      const inside = groups.some((group) => {
        const range = ranges[group]
        return range && first >= range.first && first + count <= range.first + range.count
      })
      if (inside) owned.add(shard)
    })
    const points = await PointStore.open(device, this.#source, { frame, layout, owned })
    this.#open = { groups, points, training: new TrainingPoints(device, points, blob.training) }
    return this.#open
  }
}
