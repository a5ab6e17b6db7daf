/** Workers of a run on other machines: who joined and left, and what went through the store. */
import { type ClusterEvent, connect, type MachinePool, type RoundTraffic, type WorkerFacts } from '../index.ts'
import type { MachineFlags, SpeechFlags } from './commands/shared-options.ts'
import { bytes, count } from './format.ts'
import type { Session } from './session.ts'

/** For the end of a run. */
export interface MachineReport {
  readonly store: string
  readonly workers: readonly Omit<WorkerFacts, 'worker'>[]
  /** Bytes written to the store by this process, and read from it. */
  readonly sent: number
  readonly received: number
  readonly rounds: readonly RoundTraffic[]
}

export class MachineWatch {
  readonly pool: MachinePool
  readonly #rounds: RoundTraffic[]
  readonly #state: { workers: readonly WorkerFacts[] }

  /** Undefined if the flags do not name other machines. */
  static async open(
    { on, lock, wait, json }: MachineFlags & SpeechFlags,
    session: Session,
    tell: (text: string, workers: string) => void,
  ): Promise<MachineWatch | undefined> {
    if (on === undefined) return undefined
    const rounds: RoundTraffic[] = []
    const state = { workers: [] as readonly WorkerFacts[], told: '' }
    session.connects = true
    const pool = await connect(on, {
      ...(lock === undefined ? {} : { lock }),
      ...(wait === undefined ? {} : { wait }),
      onTraffic: (traffic) => rounds.push(traffic),
      onEvent: (event) => {
        if (event.kind === 'workers') state.workers = event.workers
        if (json) session.stdout.json({ type: 'machines', ...event })
        const text = eventWords(event)
        if (text === undefined || text === state.told) return
        state.told = text
        tell(text, count(state.workers.length, 'worker'))
      },
    })
    return new MachineWatch(pool, rounds, state)
  }

  private constructor(pool: MachinePool, rounds: RoundTraffic[], state: { workers: readonly WorkerFacts[] }) {
    this.pool = pool
    this.#rounds = rounds
    this.#state = state
  }

  report(): MachineReport {
    const rounds = this.#rounds
    return {
      store: this.pool.address,
      workers: this.#state.workers.map(({ name, device, groups }) => ({ name, device, groups })),
      sent: rounds.reduce((sum, { sent }) => sum + sent, 0),
      received: rounds.reduce((sum, { received }) => sum + received, 0),
      rounds,
    }
  }

  close(): Promise<void> {
    return this.pool.close()
  }
}

/** Undefined for what is not worth a line. */
function eventWords(event: ClusterEvent): string | undefined {
  switch (event.kind) {
    case 'waiting':
      return `waiting for workers for ${count(event.groups, 'group')} of shards; if none is running, start some with centroidal worker`
    case 'workers': {
      const groups = event.workers.reduce((sum, worker) => sum + worker.groups.length, 0)
      // While shards are taken there would be a line for each.
      if (groups < event.total) return undefined
      return event.workers.map(({ name, groups: own }) => `${name}: ${count(own.length, 'group')}`).join(', ')
    }
    case 'unreachable':
      return `${event.why} Trying again for ${event.seconds} seconds.`
    case 'rebalanced':
      return `shards are redistributed for ${event.idle.join(', ')}`
    case 'mixed':
      return `warning: workers compute on different devices (${event.devices.join(', ')}), so that results may differ in the last digits from run to run: start all of them with the same --device`
    default:
      return `worker ${event.name} ${event.kind === 'left' ? 'left' : `${event.kind}: ${event.why ?? ''}`}`
  }
}

export function machineWords({ workers, sent, received, rounds, store }: MachineReport): string[] {
  const each = rounds.length > 0 ? `, ${bytes(Math.round((sent + received) / rounds.length))} a round` : ''
  return [
    ...workers.map(({ name, device, groups }) => `${name} (${device}), ${count(groups.length, 'group')} of shards`),
    `${bytes(sent)} sent and ${bytes(received)} received through ${store}${each}`,
  ]
}
