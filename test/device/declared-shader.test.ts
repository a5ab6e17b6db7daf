import { describe, expect, test } from 'vitest'
import type { DeviceBuffer, GpuTarget } from '../../src/device/contract.ts'
import { declareShader, rowsOf } from '../../src/device/declared-shader.ts'
import { elements, mayRead, mayWrite, onlyIf, reads, UNUSED, writes } from '../../src/device/fields.ts'

const FEATURES = { subgroups: false, f16: false }
const gpu = { limits: { workgroups: 7 } } as GpuTarget

function buffer(label: string, bytes = 64): DeviceBuffer {
  return { label, bytes, freed: false, free() {} }
}

const shader = declareShader({
  name: 'example',
  params: { count: 'u32', scale: 'f32', offset: 'i32', unit: 'bool' },
  buffers: {
    x: rowsOf('u8'),
    weights: mayRead('f32'),
    missing: UNUSED,
    labels: reads('u32'),
    sums: writes('vec4f'),
  },
  workgroup: 64,
  body: () => 'fn main() {}',
})

describe('a declared shader', () => {
  test('has bindings, parameters and the size of a workgroup in its text', () => {
    expect(shader.code(FEATURES)).toBe(`const WORKGROUP = 64u;
@group(0) @binding(0) var<storage, read> x: array<u32>;
fn xPart(row: u32, t: u32, quads: u32) -> vec4f { return vec4f(unpack4xU8(x[row * quads + t])); }
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec4f>;
struct Params { count: u32, scale: f32, offset: i32, unit: u32, hasWeights: u32 }
@group(0) @binding(4) var<uniform> params: Params;
fn main() {}`)
    expect(shader.layout).toBe('rrrwu')
  })

  test('enables extensions that the device has, before everything else', () => {
    const extended = declareShader({
      name: 'extended',
      params: {},
      buffers: { sums: writes('f32') },
      workgroup: 32,
      enables: ['subgroups', 'f16'],
      body: () => 'fn main() {}',
    })
    const text = (features: typeof FEATURES) => extended.code(features).split('\n').slice(0, 2)
    expect(text({ subgroups: true, f16: false })).toEqual(['enable subgroups;', 'const WORKGROUP = 32u;'])
    expect(text(FEATURES)[0]).toBe('const WORKGROUP = 32u;')
  })

  const [x, labels, sums, weights] = [buffer('x'), buffer('labels'), buffer('sums'), buffer('weights')]
  const args = { x, labels, sums, count: 3, scale: 0.5, offset: -2, unit: true }

  test('packs arguments by name, whatever their order', () => {
    const pass = shader.pass(gpu, { ...args, weights }, { items: 130 })
    expect(pass.bindings).toEqual([x, weights, labels, sums])
    expect(pass.params).toEqual([3, 0x3f000000, -2, 1, 1])
    expect(pass.groups).toEqual([3, 1])
  })

  test('binds another buffer in the place of an optional one and says so', () => {
    const pass = shader.pass(gpu, args, { items: 64, perGroup: 16, operations: 9, share: 0.5 })
    expect(pass.bindings).toEqual([x, x, labels, sums])
    expect(pass.params.at(-1)).toBe(0)
    expect(pass).toMatchObject({ groups: [4, 1], operations: 9, share: 0.5 })
  })

  test('has a buffer in some variants only', () => {
    const variant = (has: boolean) =>
      declareShader({
        name: `variant-${has}`,
        params: { count: 'u32' },
        buffers: { x: reads('f32'), errors: onlyIf(has, writes('f32')) },
        workgroup: 64,
        body: () => '',
      })
    const args = { count: 1, x: buffer('x') }
    expect([variant(true).layout, variant(false).layout]).toEqual(['rwu', 'ru'])
    expect(variant(false).pass(gpu, { ...args, errors: buffer('errors') }, { items: 1 }).bindings).toHaveLength(1)
    expect(() => variant(true).pass(gpu, args, { items: 1 })).toThrow('variant-true: no buffer for errors')
  })

  test('refuses an optional buffer that is written, for which nothing can be bound', () => {
    const buffers = { x: reads('f32'), errors: mayWrite('f32') }
    const declare = () => declareShader({ name: 'optional', params: {}, buffers, workgroup: 64, body: () => '' })
    expect(declare).toThrow('optional: errors is written and needs onlyIf')
  })

  test('checks the number of elements that is stated', () => {
    expect(shader.pass(gpu, { ...args, labels: elements(labels, 16) }, { groups: [2] }).bindings[2]).toBe(labels)
    expect(() => shader.pass(gpu, { ...args, labels: elements(labels, 17) }, { groups: [2] })).toThrow(
      'example: labels: needs 68 bytes of labels and is given 64',
    )
  })

  test('refuses parameters that are not whole numbers', () => {
    expect(() => shader.pass(gpu, { ...args, count: 1.5 }, { groups: [1] })).toThrow('parameter count is 1.5')
    expect(() => shader.pass(gpu, { ...args, count: Number.NaN }, { groups: [1] })).toThrow('parameter count is NaN')
  })

  test('is checked by the compiler', () => {
    // @ts-expect-error a missing parameter
    expect(() => shader.pass(gpu, { x, labels, sums, count: 3, scale: 1, unit: false }, { items: 1 })).toThrow()
    // @ts-expect-error a missing buffer
    expect(() => shader.pass(gpu, { x, sums, count: 3, scale: 1, offset: 0, unit: false }, { items: 1 })).toThrow()
    // @ts-expect-error an unknown name
    shader.pass(gpu, { ...args, wieghts: weights }, { items: 1 })
    // @ts-expect-error a number instead of a boolean
    shader.pass(gpu, { ...args, unit: 1 }, { items: 1 })
  })
})
