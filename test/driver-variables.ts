/**
 * Which Vulkan driver the tests in Node use. Without a hardware GPU that is SwiftShader, whatever software drivers the
 * system has, so that tests do the same everywhere. CENTROIDAL_TEST_DRIVER overrides it: `swiftshader`, `lavapipe` (Mesa's
 * software driver), or `system`.
 */
import { driverManifests, hasGpu } from '../src/platform/gpu-drivers.ts'

type Env = Readonly<Record<string, string | undefined>>

/** No such file: the Vulkan loader then finds no driver of the system, and the library takes its own. */
export const NO_SYSTEM_DRIVERS = {
  VK_DRIVER_FILES: '/no-system-drivers.json',
  VK_ICD_FILENAMES: '/no-system-drivers.json',
}

/** Variables of the processes that run tests. */
export function driverVariables(env: Env = process.env, hardware = hasGpu()): Record<string, string> {
  const wanted = env.CENTROIDAL_TEST_DRIVER || (hardware ? 'system' : 'swiftshader')
  if (wanted === 'system') return {}
  if (wanted === 'swiftshader') return NO_SYSTEM_DRIVERS
  if (wanted !== 'lavapipe') {
    throw new Error(`CENTROIDAL_TEST_DRIVER is ${wanted}: give swiftshader, lavapipe or system.`)
  }
  const manifest = driverManifests(env).find((path) => /\blvp_icd[^/]*\.json$/.test(path))
  if (manifest === undefined) {
    throw new Error(
      'lavapipe is not installed: install mesa-vulkan-drivers (Debian, Ubuntu) or name its manifest in VK_DRIVER_FILES.',
    )
  }
  return { VK_DRIVER_FILES: manifest, VK_ICD_FILENAMES: manifest }
}
