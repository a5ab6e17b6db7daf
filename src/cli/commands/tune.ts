/** `centroidal tune`: which forms of the GPU kernels are the fastest here. */
import type { Command } from 'commander'
import { type FormTiming, openDevice, type Tuning, tune } from '../../index.ts'
import { withQuietDrivers } from '../quiet-drivers.ts'
import type { Output, Session } from '../session.ts'
import { addJsonOption, type SpeechFlags } from './shared-options.ts'

export function addTuneCommand(program: Command, session: Session): void {
  const command = program
    .command('tune')
    .summary('measure which forms of the GPU kernels are the fastest on this machine')
    .description(
      'Times the forms of the kernels that have several on the WebGPU adapter of this machine, and remembers the fastest ones for later runs. A hardware GPU is tuned automatically when it is first used; this command repeats it and shows the timings.',
    )
    .action((flags: SpeechFlags) => tuneHere(session, flags))
    .addHelpText('after', '\nExample:\n  centroidal tune\n  centroidal tune --json')
  addJsonOption(command)
}

async function tuneHere({ stdout }: Session, { json }: SpeechFlags): Promise<void> {
  const device = await withQuietDrivers(() => openDevice({ kind: 'webgpu', tune: false }))
  try {
    const tuning = await tune({ device })
    if (json) {
      for (const timing of tuning.timings) stdout.json({ type: 'timing', ...timing })
      stdout.json({ type: 'result', adapter: tuning.adapter, forms: tuning.forms })
    } else {
      show(stdout, tuning)
    }
  } finally {
    await device.close()
  }
}

const KERNELS: Readonly<Record<string, string>> = { assign: 'assign, floats', assignBytes: 'assign, bytes' }

function show(stdout: Output, { adapter, forms, timings }: Tuning): void {
  const { bold, dim, green } = stdout.colors
  stdout.line(bold(adapter))
  stdout.line(dim(`${'kernel'.padEnd(16)}${'form'.padEnd(12)}${'ms'.padStart(9)}${'GFLOP/s'.padStart(10)}`))
  for (const { kernel, form, seconds, gflops } of timings as readonly FormTiming[]) {
    const numbers = `${(seconds * 1000).toFixed(2).padStart(9)}${gflops.toPrecision(3).padStart(10)}`
    const taken = forms[kernel] === form ? `  ${green('taken')}` : ''
    stdout.line(`${(KERNELS[kernel] ?? kernel).padEnd(16)}${form.padEnd(12)}${numbers}${taken}`)
  }
}
