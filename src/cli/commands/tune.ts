/** `centroidal tune`: how fast this machine is, and which forms of the GPU kernels are the fastest. */
import { type Command, Option } from 'commander'
import { openDevice, type Speed, type Tuning, tune } from '../../index.ts'
import { withQuietDrivers } from '../quiet-drivers.ts'
import type { Output, Session } from '../session.ts'
import { addJsonOption, type SpeechFlags } from './shared-options.ts'

interface TuneFlags extends SpeechFlags {
  readonly device: 'webgpu' | 'cpu'
  readonly all?: boolean
}

export function addTuneCommand(program: Command, session: Session): void {
  const command = program
    .command('tune')
    .summary('measure the speed of this machine and select the fastest GPU kernels')
    .description(
      'Measures the speed of a device, by which --method auto and --device auto choose, and times the forms of GPU kernels that have several with the same results. The speed and the fastest forms are remembered for later runs. A hardware GPU is tuned automatically when it is first used; this command repeats it and shows the timings.',
    )
    .addOption(new Option('--device <name>', 'webgpu or cpu').choices(['webgpu', 'cpu']).default('webgpu'))
    .option('--all', 'also time forms that round differently, which are never selected')
    .action((flags: TuneFlags) => tuneHere(session, flags))
    .addHelpText('after', '\nExample:\n  centroidal tune\n  centroidal tune --device cpu --json')
  addJsonOption(command)
}

async function tuneHere({ stdout }: Session, { json, device: kind, all = false }: TuneFlags): Promise<void> {
  const device = await withQuietDrivers(() => openDevice({ kind, tune: false }))
  try {
    const tuning = await tune({ device, all })
    if (json) {
      for (const timing of tuning.timings) stdout.json({ type: 'timing', ...timing })
      stdout.json({ type: 'result', adapter: tuning.adapter, forms: tuning.forms, speed: tuning.speed })
    } else {
      show(stdout, tuning)
    }
  } finally {
    await device.close()
  }
}

function show(stdout: Output, { adapter, forms, timings, speed }: Tuning): void {
  const { bold, dim, green } = stdout.colors
  stdout.line(bold(adapter))
  stdout.line(`exact assignment  ${words(speed.exact)}`)
  stdout.line(`closures-sharp    ${words(speed.closures)}, in rounds of the same cost on the CPU device`)
  if (timings.length === 0) {
    stdout.line(dim('On this device no kernel has several forms with the same results.'))
    return
  }
  stdout.line(
    dim(`${'kernel'.padEnd(14)}${'rows'.padEnd(9)}${'form'.padEnd(12)}${'ms'.padStart(9)}${'GFLOP/s'.padStart(10)}`),
  )
  for (const { kernel, shape, form, seconds, gflops, exchangeable } of timings) {
    const chosen =
      (shape === 'narrow' ? (forms.narrow as Readonly<Record<string, string>>)?.[kernel] : undefined) ?? forms[kernel]
    const note = chosen === form ? `  ${green('taken')}` : exchangeable ? '' : dim('  rounds differently')
    const numbers = `${(seconds * 1000).toFixed(2).padStart(9)}${gflops.toPrecision(3).padStart(10)}`
    stdout.line(`${kernel.padEnd(14)}${shape.padEnd(9)}${form.padEnd(12)}${numbers}${note}`)
  }
}

function words({ gflops, source }: Speed): string {
  return `about ${gflops.toLocaleString('en')} GFLOP/s, ${source}`
}
