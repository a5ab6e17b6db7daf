/** `centroidal worker`: connects to a store and processes shards until it is stopped. */
import { type Command, Option } from 'commander'
import { work } from '../../index.ts'
import { realNumber } from '../option-values.ts'
import type { Session } from '../session.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  lockOption,
  openChosenDevice,
  type SpeechFlags,
  waitOption,
} from './shared-options.ts'

interface WorkerFlags extends DeviceFlags, SpeechFlags {
  readonly data?: readonly string[]
  readonly name?: string
  readonly lock?: number
  readonly expire?: number
  readonly wait?: number
}

export function addWorkerCommand(program: Command, session: Session): void {
  const command = program
    .command('worker')
    .summary('process shards for runs of other machines')
    .description(
      'Connects to a store and processes shards of the runs that centroidal cluster --on starts there. Reads vectors below --data only. On SIGTERM or Ctrl-C its shards are handed to other workers at once.',
    )
    .argument('<url>', 'the store: redis://, rediss:// or postgres://')
    .addOption(
      new Option(
        '--data <folder>',
        'folder, or S3 prefix (s3://bucket/prefix), that shards are read from; can be given several times (default: the current folder)',
      ).argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]),
    )
    .addOption(new Option('--name <text>', 'name in reports (default: host and process)'))
    .addOption(lockOption())
    .addOption(
      new Option(
        '--expire <seconds>',
        'runs whose coordinator has not responded for this long are removed from the store (default: 300)',
      ).argParser(realNumber('--expire', 'seconds')),
    )
    .addOption(waitOption('60'))
    .action((url: string, flags: WorkerFlags) => runWorker(session, url, flags))
    .addHelpText('after', '\nExample:\n  centroidal worker redis://store:6379 --data /mnt/vectors')
  addDeviceOptions(command)
  addSpeechOptions(command)
}

async function runWorker(session: Session, url: string, flags: WorkerFlags): Promise<void> {
  const { data, name, lock, expire, wait, json, quiet } = flags
  const signal = session.interruption()
  const device = await openChosenDevice(flags)
  session.connects = true
  try {
    await work(url, {
      device,
      signal,
      ...(data === undefined ? {} : { data }),
      ...(name === undefined ? {} : { name }),
      ...(lock === undefined ? {} : { lock }),
      ...(expire === undefined ? {} : { expire }),
      ...(wait === undefined ? {} : { wait }),
      onEvent: (text) => {
        if (json) session.stdout.json({ type: 'event', text })
        else if (!quiet) session.stderr.line(text)
      },
    })
  } finally {
    await device.close()
  }
}
