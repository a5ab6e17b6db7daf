/** `centroidal info`: which devices are here. */
import type { Command } from 'commander'
import { type DeviceListing, listDevices } from '../../index.ts'
import { bytes } from '../format.ts'
import { withQuietDrivers } from '../quiet-drivers.ts'
import type { Output, Session } from '../session.ts'
import { addJsonOption, type SpeechFlags } from './shared-options.ts'

export function addInfoCommand(program: Command, session: Session): void {
  const command = program
    .command('info')
    .summary('show the devices of this machine and which one is selected')
    .description(
      'Opens every kind of device and shows its name, limits and features, and which one --device auto selects and why.',
    )
    .action((flags: SpeechFlags) => tellDevices(session, flags))
    .addHelpText('after', '\nExample:\n  centroidal info\n  centroidal info --json')
  addJsonOption(command)
}

async function tellDevices({ stdout }: Session, { json }: SpeechFlags): Promise<void> {
  const { devices, reason } = await withQuietDrivers(listDevices)
  const taken = devices.find((device) => device.taken)
  if (json) {
    for (const { kind, info, whyNot, taken } of devices) {
      const { name, software, features, limits } = info ?? {}
      stdout.json({
        type: 'device',
        kind,
        available: info !== undefined,
        taken,
        name,
        software,
        features,
        limits,
        whyNot,
      })
    }
    stdout.json({ type: 'result', taken: taken?.kind, reason })
    return
  }
  stdout.line(`Node ${process.versions.node} on ${process.platform} ${process.arch}`)
  for (const device of devices) tellDevice(stdout, device)
  stdout.line('')
  stdout.line(`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`)
}

function tellDevice(stdout: Output, { kind, info, whyNot, taken }: DeviceListing): void {
  const { bold, dim, green, yellow } = stdout.colors
  stdout.line('')
  stdout.line(`${bold(kind)}${taken ? `  ${green('selected by auto')}` : ''}`)
  const row = (name: string, value: string): void => stdout.line(`  ${dim(name.padEnd(17))} ${value}`)
  if (info === undefined) {
    row('missing', yellow(whyNot ?? 'for an unknown reason'))
    return
  }
  const { limits } = info
  row('name', info.name)
  row('hardware', info.software ? 'no, a software adapter (slow)' : 'yes')
  row('features', info.features.join(', ') || 'none')
  row('largest buffer', bytes(limits.bufferBytes))
  row('largest binding', bytes(limits.bindingBytes))
  row('vectors kept', `up to ${bytes(limits.memoryBytes)}, more is streamed (--device-memory)`)
  if (kind === 'webgpu') row('workgroups', `${limits.workgroups.toLocaleString('en')} along a dimension`)
}
