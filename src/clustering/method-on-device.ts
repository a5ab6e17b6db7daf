/** The choice of `method: 'auto'` once the devices are open, by their speed. */
import type { Device } from '../device/contract.ts'
import { ensureClosuresMeasured, type Steps } from './closures-speed.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { chooseMethod, dependsOnSpeed, jointSpeed } from './method-choice.ts'
import { methodTask, type Shape } from './method-task.ts'
import { type ResolvedOptions, resolveOptions } from './options.ts'

/** `resolved`: the same options, checked before there was a device. It is the result if the device does not matter. */
export async function resolveOnDevices(
  resolved: ResolvedOptions,
  options: AnyClusterOptions,
  shape: Shape,
  devices: readonly Device[],
  steps: Steps,
): Promise<ResolvedOptions> {
  const task = methodTask(options, shape)
  if (task === undefined || !dependsOnSpeed(task)) return resolved
  const speed = () => jointSpeed(devices.map(({ info }) => info.speed))
  // Measuring would take longer than such short rounds.
  if (!chooseMethod(task, speed()).cheap) {
    const { signal, onProgress } = options
    for (const device of devices) {
      await ensureClosuresMeasured(device, steps, { signal, onProgress: () => onProgress?.(0, 'measuring the device') })
    }
  }
  return resolveOptions(options, shape, speed())
}
