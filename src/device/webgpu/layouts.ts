/**
 * Layouts of bindings, read from the text of a shader: storage that is read or written, and the parameters after it. The
 * same layout serves all shaders with the same kinds of bindings, so that they share bind groups.
 */

/** `r` for storage that is read, `w` for storage that is written, `u` for the parameters, in order. */
export type BindingKinds = string

export interface BindingLayout {
  readonly kinds: BindingKinds
  readonly group: GPUBindGroupLayout
  readonly pipeline: GPUPipelineLayout
}

const BINDING = /@group\(0\)\s*@binding\((\d+)\)\s*var<\s*(storage|uniform)\s*(?:,\s*(\w+)\s*)?>/g

/** Throws unless bindings are numbered from 0 without gaps, parameters last. */
export function bindingKinds(name: string, code: string): BindingKinds {
  const kinds: string[] = []
  for (const [, number, space, access] of code.matchAll(BINDING)) {
    kinds[Number(number)] = space === 'uniform' ? 'u' : access === 'read_write' ? 'w' : 'r'
  }
  const found = Array.from(kinds, (kind) => kind ?? '?').join('')
  if (!/^[rw]*u?$/.test(found)) {
    throw new Error(`${name} has bindings ${found}: storage comes first, without gaps, and then the parameters`)
  }
  return found
}

export class LayoutCache {
  readonly #device: GPUDevice
  readonly #layouts = new Map<BindingKinds, BindingLayout>()

  constructor(device: GPUDevice) {
    this.#device = device
  }

  get(kinds: BindingKinds): BindingLayout {
    const known = this.#layouts.get(kinds)
    if (known) return known
    const group = this.#device.createBindGroupLayout({
      label: kinds,
      entries: Array.from(kinds, (kind, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer:
          kind === 'u'
            ? { type: 'uniform', hasDynamicOffset: true }
            : { type: kind === 'w' ? 'storage' : 'read-only-storage' },
      })),
    })
    const pipeline = this.#device.createPipelineLayout({ label: kinds, bindGroupLayouts: [group] })
    const layout = { kinds, group, pipeline }
    this.#layouts.set(kinds, layout)
    return layout
  }
}
