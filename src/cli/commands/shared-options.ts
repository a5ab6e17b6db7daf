/** Options that several commands have, described and read in one place. */
import { type Command, Option } from 'commander'
import { type Device, type DeviceOptions, openDevice } from '../../index.ts'
import { byteSize, oneOf, realNumber, wholeNumber } from '../option-values.ts'
import { withQuietDrivers } from '../quiet-drivers.ts'

export interface DeviceFlags {
  readonly device?: 'auto' | 'webgpu' | 'cpu'
  readonly threads?: number
  readonly memory?: number
  readonly temp?: string
  readonly deviceMemory?: number
  /** False for --no-tune. */
  readonly tune?: boolean
}

const DEVICE_GROUP = 'Device:'
const MEGABYTE = 2 ** 20
/** What the process takes without any vectors. */
const LEAST_MEMORY = 64 * MEGABYTE

/** Options that stand under one heading in the help. */
export function addOptionGroup(command: Command, heading: string, options: readonly Option[]): void {
  for (const option of options) command.addOption(option.helpGroup(heading))
}

export function addDeviceOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--device <name>',
        'auto, webgpu or cpu; auto selects a hardware GPU if there is one and the CPU is not faster (default: auto)',
      )
        .argParser(oneOf('--device', ['auto', 'webgpu', 'cpu']))
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option('--threads <count>', 'threads of the CPU device (default: one for each core)')
        .argParser(wholeNumber('--threads', 'threads', 1))
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--memory <size>',
        'memory limit of the whole process, such as 1GB; data that does not fit is read again in every round or written to a temporary file (default: no limit)',
      )
        .argParser(
          byteSize(
            '--memory',
            LEAST_MEMORY,
            '; the number of components a vector remembers (agm) is now set with --remember',
          ),
        )
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--temp <folder>',
        'folder for the temporary files of --memory, which are removed when the command ends (default: that of the system)',
      ).helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--device-memory <MB>',
        'memory for vectors on the device; vectors that do not fit are streamed (default: as much as it has)',
      )
        .argParser(wholeNumber('--device-memory', 'megabytes', 1))
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option('--no-tune', 'use the default forms of GPU kernels instead of the fastest measured ones').helpGroup(
        DEVICE_GROUP,
      ),
    )
}

/** The device given by the flags; the command closes it. */
export function openChosenDevice(flags: DeviceFlags): Promise<Device> {
  return withQuietDrivers(() => openDevice(deviceOptions(flags)))
}

function deviceOptions({ device, threads, memory, temp, deviceMemory, tune }: DeviceFlags): DeviceOptions {
  return {
    ...(device === undefined ? {} : { kind: device }),
    ...(threads === undefined ? {} : { threads }),
    ...(tune === false ? { tune } : {}),
    ...(memory === undefined ? {} : { totalBytes: memory }),
    ...(temp === undefined ? {} : { temporaryFolder: temp }),
    ...(deviceMemory === undefined ? {} : { memoryBytes: deviceMemory * MEGABYTE }),
  }
}

export interface MachineFlags {
  readonly on?: string
  readonly lock?: number
  readonly wait?: number
}

const MACHINE_GROUP = 'Other machines:'

export function addMachineOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--on <url>',
        'run on the workers of this store: redis://, rediss:// or postgres://; see centroidal worker (default: this machine only)',
      ).helpGroup(MACHINE_GROUP),
    )
    .addOption(lockOption().helpGroup(MACHINE_GROUP))
    .addOption(waitOption('5 when connecting, 60 later').helpGroup(MACHINE_GROUP))
}

export function waitOption(seconds: string): Option {
  return new Option(
    '--wait <seconds>',
    `how long to retry a store that cannot be reached (default: ${seconds})`,
  ).argParser(realNumber('--wait', 'seconds'))
}

export function lockOption(): Option {
  return new Option(
    '--lock <seconds>',
    'a worker that does not respond for this long loses its shards; use the same value for all processes (default: 15)',
  ).argParser(realNumber('--lock', 'seconds'))
}

export interface SpeechFlags {
  readonly json?: boolean
  readonly quiet?: boolean
}

const SPEECH_GROUP = 'Messages:'

export function addJsonOption(command: Command): Command {
  return command.addOption(
    new Option('--json', 'one JSON object per line on stdout instead of text').helpGroup(SPEECH_GROUP),
  )
}

export function addSpeechOptions(command: Command): Command {
  return addJsonOption(command).addOption(
    new Option('-q, --quiet', 'no output except errors (and the JSON of --json)').helpGroup(SPEECH_GROUP),
  )
}
