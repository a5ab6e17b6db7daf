/** What was measured on a device, remembered under its name: the fastest forms of kernels, and classes of speed. */
import { platform } from '#platform'
import { KERNEL_FORMS, type KernelForms, SHAPE_CLASSES } from './forms.ts'

const NAME = 'tuning.json'
/** Other forms, or another meaning of the numbers: what was remembered before is of no use. */
const VERSION = JSON.stringify([1, KERNEL_FORMS, SHAPE_CLASSES])

/** Whatever was never measured is absent. */
export interface RememberedTuning {
  readonly forms?: KernelForms
  /** Speed of exact assignment and of closures-sharp: see speed.ts. Powers of two. */
  readonly exact?: number
  readonly closures?: number
}

interface Memory {
  readonly version: string
  readonly devices: Readonly<Record<string, RememberedTuning>>
}

/** Of the device with this name; empty if nothing was measured. */
export async function rememberedTuning(device: string): Promise<RememberedTuning> {
  return checked((await read()).devices[device])
}

/**
 * Adds to what is remembered of a device. False if it could not be kept: then a later process measures again, and what it
 * finds may differ.
 */
export async function rememberTuning(device: string, more: RememberedTuning): Promise<boolean> {
  const { version, devices } = await read()
  const known = { ...checked(devices[device]), ...more }
  const text = JSON.stringify({ version, devices: { ...devices, [device]: known } })
  await platform.remember(NAME, text)
  return (await platform.recall(NAME)) === text
}

/** A memory that is damaged, or of another version, is an empty one. */
async function read(): Promise<Memory> {
  const empty = { version: VERSION, devices: {} }
  try {
    const found = JSON.parse((await platform.recall(NAME)) ?? '{}') as Partial<Memory> | null
    const { version, devices } = found ?? {}
    return version === VERSION && typeof devices === 'object' && devices !== null ? { version, devices } : empty
  } catch {
    return empty
  }
}

function checked(found: RememberedTuning | undefined): RememberedTuning {
  if (typeof found !== 'object' || found === null) return {}
  const { forms, exact, closures } = found
  return {
    ...(areForms(forms) ? { forms } : {}),
    ...(isClass(exact) ? { exact } : {}),
    ...(isClass(closures) ? { closures } : {}),
  }
}

function isClass(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && Number.isInteger(Math.log2(value))
}

function areForms(found: unknown): found is KernelForms {
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(found).every(([kernel, form]) => {
    if (SHAPE_CLASSES.includes(kernel as never)) return areForms(form)
    const known = Object.hasOwn(KERNEL_FORMS, kernel) && KERNEL_FORMS[kernel as keyof typeof KERNEL_FORMS]
    return known !== false && (known as readonly string[]).includes(form as string)
  })
}
