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
      new Option('--threads <count>', 'threads of the CPU device (default: as many as the machine runs at once)')
        .argParser(wholeNumber('--threads', 'threads', 1))
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--memory <size>',
        'memory that the process may use in all, such as 1GB; what does not fit is read again in every round or goes to a temporary file (default: no limit)',
      )
        .argParser(
          byteSize('--memory', LEAST_MEMORY, '; how many components a vector remembers (agm) is now --remember'),
        )
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--temp <folder>',
        'where temporary files of --memory go; they are gone when the command ends (default: the folder of the system)',
      ).helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option(
        '--device-memory <MB>',
        'vectors kept on the device; more than this is streamed (default: what it can hold)',
      )
        .argParser(wholeNumber('--device-memory', 'megabytes', 1))
        .helpGroup(DEVICE_GROUP),
    )
    .addOption(
      new Option('--no-tune', 'use the default forms of GPU kernels, not those measured to be the fastest').helpGroup(
        DEVICE_GROUP,
      ),
    )
}

/** The device that the flags ask for; the command closes it. */
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
        'let the workers of this store do the work: redis://, rediss:// or postgres://; see centroidal worker (default: this machine alone)',
      ).helpGroup(MACHINE_GROUP),
    )
    .addOption(lockOption().helpGroup(MACHINE_GROUP))
    .addOption(waitOption('5 when connecting, 60 later').helpGroup(MACHINE_GROUP))
}

export function waitOption(seconds: string): Option {
  return new Option(
    '--wait <seconds>',
    `a store that cannot be reached is tried again for so long before the command fails (default: ${seconds})`,
  ).argParser(realNumber('--wait', 'seconds'))
}

export function lockOption(): Option {
  return new Option(
    '--lock <seconds>',
    'a worker that does not answer for so long loses its shards; give all processes the same (default: 15)',
  ).argParser(realNumber('--lock', 'seconds'))
}

export interface SpeechFlags {
  readonly json?: boolean
  readonly quiet?: boolean
}

const SPEECH_GROUP = 'What is told:'

export function addJsonOption(command: Command): Command {
  return command.addOption(
    new Option('--json', 'one JSON object a line on stdout instead of words').helpGroup(SPEECH_GROUP),
  )
}

export function addSpeechOptions(command: Command): Command {
  return addJsonOption(command).addOption(
    new Option('-q, --quiet', 'no progress and no words, only errors (and the JSON of --json)').helpGroup(SPEECH_GROUP),
  )
}
