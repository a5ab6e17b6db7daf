/** A GPUDevice that is asked for everything and executes nothing: what the library launches can be counted at any size. */

/** Replaces a method of one object. */
export function replaceMethod<T extends object, K extends keyof T>(
  object: T,
  name: K,
  make: (original: T[K]) => T[K],
): void {
  const original = (object[name] as (...args: unknown[]) => unknown).bind(object) as T[K]
  Object.defineProperty(object, name, { value: make(original), configurable: true })
}

const NOTHING = '@compute @workgroup_size(1) fn main() {}'

/**
 * Buffers, copies and reads work, dispatches do nothing: memory stays as the host wrote it. `codeOf` may give other text for
 * a shader; shaders that never run need not be compiled.
 */
export function executeNothing(gpu: GPUDevice, codeOf: (shader: string) => string | undefined = () => undefined): void {
  replaceMethod(
    gpu,
    'createShaderModule',
    (create) => (descriptor) => create({ ...descriptor, code: codeOf(descriptor.label ?? '') ?? NOTHING }),
  )
  replaceMethod(
    gpu,
    'createComputePipelineAsync',
    (create) =>
      ({ layout, compute: { module } }) =>
        create({ layout, compute: { module } }),
  )
  replaceMethod(gpu, 'createCommandEncoder', (create) => (descriptor) => {
    const encoder = create(descriptor)
    replaceMethod(encoder, 'beginComputePass', (begin) => (passDescriptor) => {
      const pass = begin(passDescriptor)
      replaceMethod(pass, 'dispatchWorkgroups', () => () => undefined)
      return pass
    })
    return encoder
  })
}

/** What is read looks like small whole numbers that change from read to read: methods that see no change would stop. */
export function readChangingNumbers(gpu: GPUDevice): void {
  let reads = 0
  replaceMethod(gpu, 'createBuffer', (create) => (descriptor) => {
    const buffer = create(descriptor)
    if ((descriptor.usage & GPU_MAP_READ) === 0) return buffer
    replaceMethod(buffer, 'getMappedRange', (map) => (offset, size) => {
      const range = map(offset, size)
      new Uint32Array(range, 0, range.byteLength >> 2).fill(1 + (++reads % 7))
      return range
    })
    return buffer
  })
}

/** GPUBufferUsage.MAP_READ; Node has no such global. */
const GPU_MAP_READ = 1
