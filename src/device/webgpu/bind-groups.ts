/** Bind groups, one for each layout and list of buffer parts, kept until one of the buffers is freed. */
import type { BindingLayout } from './layouts.ts'
import type { NativePart } from './recorder.ts'
import type { UniformRing } from './uniforms.ts'

/** Maximum number of cached bind groups; if it is exceeded, all are recreated. */
const MOST = 4096

export class BindGroupCache {
  readonly #device: GPUDevice
  readonly #uniforms: UniformRing
  readonly #groups = new Map<string, GPUBindGroup>()
  /** Numbers of buffers, and the groups that hold them. */
  readonly #users = new Map<GPUBuffer, { readonly id: number; readonly keys: Set<string> }>()
  #next = 0

  constructor(device: GPUDevice, uniforms: UniformRing) {
    this.#device = device
    this.#uniforms = uniforms
  }

  get(layout: BindingLayout, parts: readonly NativePart[]): GPUBindGroup {
    const users = parts.map(({ buffer }) => this.#userOf(buffer))
    const key = parts.reduce((text, { offset, size }, i) => `${text}|${users[i].id}:${offset}:${size}`, layout.kinds)
    const known = this.#groups.get(key)
    if (known) return known
    if (this.#groups.size >= MOST) this.clear()
    const entries = parts.map((resource, binding): GPUBindGroupEntry => ({ binding, resource }))
    if (layout.kinds.endsWith('u')) entries.push({ binding: parts.length, resource: this.#uniforms.binding })
    const group = this.#device.createBindGroup({ layout: layout.group, entries })
    this.#groups.set(key, group)
    for (const { keys } of users) keys.add(key)
    return group
  }

  /** A buffer is gone. */
  forget(buffer: GPUBuffer): void {
    const user = this.#users.get(buffer)
    if (user === undefined) return
    for (const key of user.keys) this.#groups.delete(key)
    this.#users.delete(buffer)
  }

  clear(): void {
    this.#groups.clear()
    for (const { keys } of this.#users.values()) keys.clear()
  }

  /** How many are kept. */
  get size(): number {
    return this.#groups.size
  }

  #userOf(buffer: GPUBuffer): { readonly id: number; readonly keys: Set<string> } {
    let user = this.#users.get(buffer)
    if (user === undefined) {
      user = { id: this.#next++, keys: new Set() }
      this.#users.set(buffer, user)
    }
    return user
  }
}
