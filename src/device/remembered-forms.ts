/** Which forms of kernels tuning found to be the fastest, remembered for each adapter. */
import { platform } from '#platform'
import { KERNEL_FORMS, type KernelForms } from './forms.ts'

const NAME = 'kernel-forms.json'
/** Other forms, or other ways of writing them: what was remembered before is of no use. */
const VERSION = JSON.stringify(KERNEL_FORMS)

interface Memory {
  readonly version: string
  readonly adapters: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Undefined where the adapter was never tuned. */
export function rememberedForms(adapter: string): KernelForms | undefined {
  const found = read().adapters[adapter]
  return found !== undefined && areForms(found) ? found : undefined
}

export function rememberForms(adapter: string, forms: KernelForms): void {
  const { version, adapters } = read()
  platform.remember(NAME, JSON.stringify({ version, adapters: { ...adapters, [adapter]: forms } }))
}

/** A memory that is damaged, or of another version, is an empty one. */
function read(): Memory {
  const empty = { version: VERSION, adapters: {} }
  try {
    const found = JSON.parse(platform.recall(NAME) ?? '{}') as Partial<Memory> | null
    const { version, adapters } = found ?? {}
    return version === VERSION && typeof adapters === 'object' && adapters !== null ? { version, adapters } : empty
  } catch {
    return empty
  }
}

function areForms(found: Readonly<Record<string, string>>): found is KernelForms {
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(found).every(
    ([kernel, form]) =>
      Object.hasOwn(KERNEL_FORMS, kernel) &&
      (KERNEL_FORMS[kernel as keyof typeof KERNEL_FORMS] as readonly string[]).includes(form),
  )
}
