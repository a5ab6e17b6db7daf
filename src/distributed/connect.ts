/** The way to a store, and from there to the workers that have joined it. */
import { platform } from '#platform'
import type { Machines, RemoteOwners } from '../clustering/remote-owners.ts'
import { callback, optionsOf, real, whole } from '../core/arguments.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import type { RunControl } from '../device/contract.ts'
import { EXACT_BLOCK } from '../kernels/exact-sums.ts'
import { type ClusterModel, clusterModel } from '../models/model.ts'
import { type Quantizer, trainedQuantizer } from '../quantize/quantizer.ts'
import type { RemoteTraining, TrainingMachines } from '../quantize/trainer.ts'
import type { ClusterEvent } from './cluster-events.ts'
import { RemoteRun } from './coordinator.ts'
import { type Lease, PROTOCOL, type RunBlob } from './messages.ts'
import { pause } from './pause.ts'
import { assignShards, encodeShards, type JobContext, readSample, type ShardWorkOptions } from './pool-jobs.ts'
import { Queues } from './queues.ts'
import { RemoteTrainingRun } from './remote-training.ts'
import type { RoundTraffic } from './round-traffic.ts'
import { RunShards } from './run-shards.ts'
import type { ShardOutput } from './shard-jobs.ts'
import type { ShardedVectors } from './shard-source.ts'
import { type BlobStore, type OnUnreachable, PATIENCE } from './store.ts'
import { MOST_GROUPS, removeRun } from './sweep-runs.ts'
import { VERSION } from './version.ts'

/** Options of {@link connect}. */
export interface ConnectOptions {
  /** Seconds after which a run whose coordinator is gone is removed from the store. Default 300. */
  readonly expire?: number | undefined
  /** Seconds after which a worker that does not answer loses its shards. Default 15; all processes should have the same. */
  readonly lock?: number | undefined
  /** Seconds to retry a store that cannot be reached. Default: 5 when connecting, 60 later. */
  readonly wait?: number | undefined
  /**
   * Bytes of commands that are kept in the store for workers that take over shards. Beyond, workers write the labels of their
   * shards to the store, and older commands are removed. Default: 32 MiB, or as many as all labels take.
   */
  readonly history?: number | undefined
  /**
   * Sums of more numbers than this (clusters times dimensions) are added up by workers, in ranges of so many numbers; smaller
   * ones by this process. Default 262,144.
   */
  readonly reduce?: number | undefined
  /** Called when workers join, leave, fail or refuse shards. Optional. */
  readonly onEvent?: ((event: ClusterEvent) => void) | undefined
  /** Called after every round with the bytes that went through the store. Optional. */
  readonly onTraffic?: ((traffic: RoundTraffic) => void) | undefined
}

/** Workers behind a store: what {@link connect} returns. */
export interface MachinePool extends Machines, TrainingMachines {
  /** The address without its password. */
  readonly address: string
  /** Labels of the vectors of all shards, by the clusters of a model. Workers write them next to the shards. */
  assign(source: ShardedVectors, model: ClusterModel, options?: ShardWorkOptions): Promise<ShardOutput[]>
  /** Codes of the vectors of all shards. Workers write them next to the shards. */
  encode(source: ShardedVectors, quantizer: Quantizer, options?: ShardWorkOptions): Promise<ShardOutput[]>
  /** Some of the vectors, drawn by a seed and read by the workers, such as those to train a quantizer on. */
  sample(source: ShardedVectors, count: number, seed: number, options?: ShardWorkOptions): Promise<Matrix>
  /** Ends the connection. Workers stay. */
  close(): Promise<void>
}

export interface Connection {
  readonly store: BlobStore
  readonly queues: Queues
  /** Of this process, in messages. */
  readonly id: string
  /** For people: host and process. */
  readonly name: string
  readonly address: string
  /** Milliseconds. */
  readonly lock: number
  close(): Promise<void>
}

const DEFAULT_EXPIRE = 300
const DEFAULT_LOCK = 15
const DEFAULT_WAIT = 5
/** Milliseconds in which queues are closed; a store may be away. */
const CLOSE_PATIENCE = 2000
/** Milliseconds between two reports that a store cannot be reached. */
const UNREACHABLE_INTERVAL = 4500
const DEFAULT_REDUCE = 2 ** 18

/**
 * Connects to a store that workers have joined (`centroidal worker <url>`), so that {@link cluster} can divide its work among
 * them: pass the result as the option `on`. close() it afterwards. Requires the packages bullmq and ioredis or pg.
 *
 * `url` is a redis://, rediss:// or postgres:// address, with user and password where the store asks for them.
 *
 * @example
 * ```ts
 * import { cluster, connect, openShards } from 'centroidal'
 *
 * async function clusterOn(url: string, manifest: string) {
 *   const source = await openShards(manifest)
 *   const on = await connect(url)
 *   try {
 *     return await cluster(source, { k: 1000, on })
 *   } finally {
 *     await on.close()
 *     await source.close?.()
 *   }
 * }
 * typeof clusterOn // => 'function'
 * ```
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<MachinePool> {
  const {
    history,
    reduce = DEFAULT_REDUCE,
    onEvent = () => {},
    onTraffic = () => {},
    expire = DEFAULT_EXPIRE,
    lock,
    wait,
  } = optionsOf<ConnectOptions>('connect', options, {
    expire: real(1),
    lock: real(0.1),
    wait: real(0),
    history: real(1),
    reduce: whole(EXACT_BLOCK, 2 ** 32),
    onEvent: callback,
    onTraffic: callback,
  })
  const onUnreachable: OnUnreachable = (why, seconds) => onEvent({ kind: 'unreachable', why, seconds })
  const connection = await connectStore(url, { expire, lock, wait, onUnreachable })
  const { store, queues, address } = connection
  /** Workers may take the shards of a run. */
  const offer = async (blob: Pick<RunBlob, 'groups'>, purpose: Lease['purpose']): Promise<RunShards> => {
    await removeIdle(connection, expire)
    const run = randomId()
    const groups = blob.groups.length
    const shards = new RunShards(store, queues, { run, groups, onEvent, expire, lock: connection.lock })
    try {
      const description = await shards.traffic.put('run', blob, true)
      await shards.open({ protocol: PROTOCOL, version: VERSION, run, groups, description, purpose })
      return shards
    } catch (error) {
      await shards.close().catch(() => {})
      throw error
    }
  }
  const jobs: JobContext = { store, queues, expire, lock: connection.lock, onEvent, newId: randomId, groupShards }
  return {
    address,
    assign: (source, model, asked = {}) => assignShards(jobs, source, clusterModel(model, 'the model'), asked),
    encode: (source, quantizer, asked = {}) =>
      encodeShards(jobs, source, trainedQuantizer(quantizer, 'the quantizer'), asked),
    sample: (source, count, seed, asked = {}) => readSample(jobs, source, count, seed, asked),
    async begin(source, run, control): Promise<RemoteOwners> {
      const blob = { run, ...shardsOf(source), range: reduce }
      const shards = await offer(blob, 'cluster')
      return new RemoteRun(shards, blob, control as RunControl, { onRound: onTraffic, history })
    },
    async beginTraining(source, training, signal): Promise<RemoteTraining> {
      const blob = { training, ...shardsOf(source) }
      return new RemoteTrainingRun(await offer(blob, 'train'), blob, signal, onTraffic)
    },
    close: () => connection.close(),
  }
}

/** Runs of coordinators that are gone. */
async function removeIdle({ store, queues }: Connection, expire: number): Promise<void> {
  for (const { run, idle, queues: names } of await store.runs()) {
    if (idle > expire) await removeRun(store, queues, run, names)
  }
}

function shardsOf(source: VectorSource): Pick<RunBlob, 'cols' | 'type' | 'rows' | 'shards' | 'groups'> {
  const { manifest } = source as Partial<ShardedVectors>
  if (manifest === undefined) {
    throw new CentroidalError('bad-option', 'Other machines read shards themselves: give the result of openShards().')
  }
  const { cols, type, shards } = manifest
  return { cols, type, rows: source.rows, shards, groups: groupShards(shards.map(({ rows }) => rows)) }
}

/** Shards in their order, in groups of about as many rows as the others. */
export function groupShards(rows: readonly number[], most = MOST_GROUPS): number[][] {
  const total = rows.reduce((sum, count) => sum + count, 0)
  const count = Math.min(most, rows.length)
  const groups: number[][] = []
  let before = 0
  rows.forEach((own, shard) => {
    const due = Math.floor(((before + own / 2) * count) / Math.max(1, total))
    const last = groups[groups.length - 1]
    // A group for each shard where there are few.
    if (last === undefined || count === rows.length || due > groups.length - 1) groups.push([shard])
    else last.push(shard)
    before += own
  })
  return groups
}

interface StoreOptions {
  readonly expire?: number | undefined
  readonly lock?: number | undefined
  readonly wait?: number | undefined
  readonly onUnreachable?: OnUnreachable
}

export async function connectStore(
  url: string,
  { expire = DEFAULT_EXPIRE, lock = DEFAULT_LOCK, wait, onUnreachable = () => {} }: StoreOptions,
): Promise<Connection> {
  const { disk } = platform
  if (disk === undefined)
    throw new CentroidalError('bad-option', 'Connecting to a store is not possible in a page: use Node.')
  const address = parseAddress(url)
  // Loaded here, so that a page that never connects is built without them.
  const times = { lockDuration: lock * 1000, stalledInterval: Math.max(200, (lock * 1000) / 2) }
  // Many operations may wait for the store at the same time.
  let told = Number.NEGATIVE_INFINITY
  const tell: OnUnreachable = (why, seconds) => {
    if (Date.now() - told < UNREACHABLE_INTERVAL) return
    told = Date.now()
    onUnreachable(why, seconds)
  }
  const connecting = { name: address.shown, patience: (wait ?? DEFAULT_WAIT) * 1000, onUnreachable: tell }
  const working = { ...connecting, patience: wait === undefined ? PATIENCE : wait * 1000 }
  const store =
    address.kind === 'redis'
      ? await (await import('./redis-store.ts')).openRedis(url, Math.ceil(20 * expire), connecting, working)
      : await (await import('./postgres-store.ts')).openPostgres(url, connecting, working)
  try {
    const queues = await Queues.open(store, working, times)
    const { pid, host } = await disk.self()
    return {
      store,
      queues,
      id: randomId(),
      name: `${host.split(' ')[0]}:${pid}`,
      address: address.shown,
      lock: lock * 1000,
      async close() {
        await Promise.race([queues.close(), pause(CLOSE_PATIENCE)])
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The address of a store, and how it is shown: without the password. */
function parseAddress(url: string): { kind: 'redis' | 'postgres'; shown: string } {
  const cure = 'give redis://, rediss:// or postgres://, a host, and what else the store needs.'
  if (typeof url !== 'string') throw badArgument('the address of the store', url, cure)
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    throw badArgument('the address of the store', url.replace(/\/\/.*@/s, '//...@'), cure)
  }
  const kinds: Record<string, 'redis' | 'postgres'> = {
    'redis:': 'redis',
    'rediss:': 'redis',
    'postgres:': 'postgres',
    'postgresql:': 'postgres',
  }
  const kind = kinds[parsed.protocol]
  if (kind === undefined) throw badArgument('the address of the store', `${parsed.protocol}//...`, cure)
  if (parsed.password !== '') parsed.password = '...'
  return { kind, shown: parsed.href }
}

function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
