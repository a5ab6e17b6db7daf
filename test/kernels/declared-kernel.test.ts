import { describe, expect, test } from 'vitest'
import type { ComputePass, CpuMemory, Device, DeviceBuffer, GpuTarget, Work } from '../../src/device/contract.ts'
import { partOf } from '../../src/device/contract.ts'
import { countOf, elements, mayRead, mayWrite, reads, writes } from '../../src/device/fields.ts'
import { SharedConstants } from '../../src/kernels/declared-function.ts'
import { declareKernel } from '../../src/kernels/declared-kernel.ts'
import {
  compiled,
  compiledOf,
  DENSE_VECTORS,
  inForms,
  READ_ROWS,
  VECTORS,
  WRITTEN_ROWS,
} from '../../src/kernels/kernel-fields.ts'

const FEATURES = { subgroups: false, f16: false }
const gpu = { limits: { workgroups: 7 }, operationsPerPass: 1000 } as unknown as GpuTarget
const memory: CpuMemory = { address: (target) => Number(partOf(target).buffer.label) + partOf(target).offset }

/** The label is the address. */
function at(address: number, bytes = 4096): DeviceBuffer {
  return { label: String(address), bytes, freed: false, free() {} }
}

const constants = new SharedConstants({
  EXAMPLE_BLOCK: { type: 'u32', value: 16 },
  EXAMPLE_LEAST: { type: 'f32', value: 1e-6 },
})

const example = declareKernel('example', {
  args: {
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    outStride: 'stride',
    scale: 'f64',
    unit: 'bool',
    weights: mayRead('f32'),
    labels: reads('vec2u'),
    out: WRITTEN_ROWS,
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: {
      offset: 'i32',
      wide: compiled(true, false),
      lists: compiledOf<number>(4),
      extra: inForms(({ wide }) => wide === true, writes('u32')),
    },
    body: ({ points, wide, lists }) => `// ${points} ${wide} ${lists}`,
    workgroup: ({ wide }) => (wide ? 256 : 64),
    cut: { params: ['firstRow', 'rows'], operations: ({ points }) => 5 * points.stride, atLeast: 4 },
    constants: [constants],
    enables: ['subgroups', 'f16'],
  },
  cpu: {
    entry: 'exampleRows',
    args: { m: 'u32', sums: mayWrite('f64') },
    scratch: { row: ({ points }) => points.stride * 4 + 1, list: ({ m }, { grain }) => m * grain * 8 },
    grain: ({ m }, items) => m + items,
  },
})

const points = { buffer: at(1024), rows: 30, cols: 5, stride: 8, type: 'u8' } as const
const centers = { buffer: at(2048), rows: 3, stride: 8 }
const shared = {
  points,
  centers,
  outStride: 12,
  scale: 0.5,
  unit: true,
  labels: elements(at(512), 30),
  out: { buffer: at(8192), rows: 30, stride: 12 },
}
const onGpu = { ...shared, offset: -2, wide: false, lists: 4 }

describe('the shader of a declared kernel', () => {
  test('has constants, bindings and parameters in its text, in one form for each value of it', () => {
    const shader = example.shader({ points: 'u8', wide: false, lists: 4 })
    expect(shader.name).toBe('example-u8-lists4')
    expect(shader.code(FEATURES)).toBe(`const WORKGROUP = 64u;
const EXAMPLE_BLOCK = 16u;
const EXAMPLE_LEAST = 0.000001f;
@group(0) @binding(0) var<storage, read> x: array<u32>;
fn xPart(row: u32, t: u32, quads: u32) -> vec4f { return vec4f(unpack4xU8(x[row * quads + t])); }
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> labels: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
struct Params { firstRow: u32, rows: u32, quads: u32, outQuads: u32, scale: f32, unit: u32, hasWeights: u32, offset: i32 }
@group(0) @binding(5) var<uniform> params: Params;
// u8 false 4`)
    const wide = example.shader({ points: 'f32', wide: true, lists: 4 })
    expect([wide.name, wide.layout, shader.layout]).toEqual(['example-f32-wide-lists4', 'rrrrwwu', 'rrrrwu'])
    expect(wide.code({ subgroups: true, f16: true })).toMatch(
      /^enable subgroups;\nenable f16;\nconst WORKGROUP = 256u;/,
    )
    expect(wide.code(FEATURES)).toContain(
      'fn xPart(row: u32, t: u32, quads: u32) -> vec4f { return x[row * quads + t]; }',
    )
    expect(example.shaders.map(({ name }) => name)).toEqual([
      'example-f32-wide-lists4',
      'example-f32-lists4',
      'example-u8-wide-lists4',
      'example-u8-lists4',
    ])
  })

  test('is made once for each form', () => {
    const form = { points: 'f32', wide: true, lists: 4 } as const
    expect(example.shader(form)).toBe(example.shader({ ...form }))
  })

  test('has sparse rows under the same name, with centres column by column', () => {
    const any = declareKernel('any', {
      args: { points: VECTORS, centers: READ_ROWS },
      gpu: { body: () => '', grid: () => 1, forms: [] },
    })
    expect(any.shaders).toEqual([])
    const code = any.shader({ points: 'csr' }).code(FEATURES)
    expect(code).toContain('x: array<f32>;\n@group(0) @binding(1) var<storage, read> offsets: array<u32>;')
    expect(code).toContain('centers: array<f32>')
    expect(code).toContain('struct Params { quads: u32, columnsAt: u32 }')
    const sparse = { places: at(3072), columnsAt: 4, entries: 6 }
    const pass = any.pass(gpu, { points: { ...points, type: 'csr', sparse }, centers })
    expect(pass.bindings).toEqual([points.buffer, sparse.places, centers.buffer])
    expect(pass.params).toEqual([2, 4])
  })

  test('packs arguments by name, with the grid of the declaration', () => {
    const pass = example.pass(gpu, { ...onGpu, firstRow: 7, rows: 130 }, { share: 0.5 })
    expect(pass.params).toEqual([7, 130, 2, 3, 0x3f000000, 1, 0, -2])
    expect(pass.groups).toEqual([3, 1])
    expect(pass.share).toBe(0.5)
    // A buffer that is read takes the place of an absent one.
    expect(pass.bindings).toEqual([
      points.buffer,
      centers.buffer,
      points.buffer,
      shared.labels.target,
      shared.out.buffer,
    ])
    const weights = elements(at(64), 30)
    const weighted = example.pass(gpu, { ...onGpu, firstRow: 0, rows: 30, weights })
    expect(weighted.bindings[2]).toBe(weights.target)
    expect(weighted.params[6]).toBe(1)
  })

  test('cuts work into passes that each stay short', () => {
    const passes = [...example.passes(gpu, onGpu, { share: (done) => done / 30, atMost: 20 })]
    const seen = passes.map(({ params, operations, share }) => [params[0], params[1], operations, share])
    expect(seen).toEqual([
      [0, 20, 800, 20 / 30],
      [20, 10, 400, 1],
    ])
  })

  test('checks buffers and numbers', () => {
    const all = { ...onGpu, firstRow: 0, rows: 30 }
    expect(() => example.pass(gpu, { ...all, offset: 1.5 })).toThrow('example-u8-lists4: parameter offset is 1.5')
    expect(() => example.pass(gpu, { ...all, labels: elements(at(0, 64), 30) })).toThrow('labels: needs 240 bytes')
    expect(() => example.pass(gpu, { ...all, centers: { ...centers, rows: 999 } })).toThrow('centers: needs')
    expect(() => example.pass(gpu, { ...all, wide: true })).toThrow('no buffer for extra')
    const csr = { ...points, type: 'csr', sparse: { places: at(3072), columnsAt: 4, entries: 6 } } as const
    expect(() => example.pass(gpu, { ...all, points: csr })).toThrow('dense vectors')
    const optional = declareKernel('optional', {
      args: {},
      gpu: { args: { errors: mayWrite('f32') }, body: () => '', grid: () => 1 },
    })
    expect(() => optional.pass(gpu, {})).toThrow('optional: errors is written and needs inForms')
  })
})

describe('the function of a declared kernel', () => {
  test('has items, grain and scratch memory from the declaration', () => {
    const job = example.job(memory, { ...shared, m: 3 })
    expect(job).toMatchObject({ entry: 'exampleRows', items: 30, grain: 33 })
    expect(job.scratchAreas).toEqual([
      { name: 'row', offset: 0, bytes: 33 },
      { name: 'list', offset: 48, bytes: 3 * 33 * 8 },
    ])
    const fields = example.declaredFunction?.fields.map(({ name, type }) => `${name}: ${type}`)
    expect(fields?.slice(5)).toEqual([
      'centers: usize',
      'outStride: u32',
      'scale: f64',
      'unit: u32',
      'weights: usize',
      'labels: usize',
      'out: usize',
      'm: u32',
      'sums: usize',
      'rowAt: u32',
      'listAt: u32',
    ])
    const block = new DataView(job.args.buffer)
    const value = (name: string): number => {
      const field = example.declaredFunction!.fields.find((each) => each.name === name)!
      return field.type === 'f64' ? block.getFloat64(field.offset, true) : block.getUint32(field.offset, true)
    }
    expect(['centers', 'outStride', 'scale', 'unit', 'weights', 'out', 'm', 'sums'].map(value)).toEqual([
      2048, 12, 0.5, 1, 0, 8192, 3, 0,
    ])
  })
})

test('a kernel runs alone on either device, with its arguments given once', async () => {
  const sum = declareKernel('sum', {
    args: { values: reads('f32'), out: writes('f32') },
    items: ({ values }) => countOf(values),
    gpu: { body: () => '', operations: ({ values }) => 2 * countOf(values) },
    cpu: { entry: 'sum', grain: 8 },
  })
  const works: Work[] = []
  const device = { run: async (work: Work) => void works.push(work) } as unknown as Device
  await sum.run(device, { values: elements(at(16), 100), out: elements(at(32), 1) })
  const [work] = works
  const passes: ComputePass[] = [...work.webgpu(gpu)]
  expect(passes).toMatchObject([{ groups: [2, 1], operations: 200, params: [] }])
  expect([...work.cpu(memory)]).toMatchObject([{ entry: 'sum', items: 100, grain: 8 }])
})

test('the compiler finds mistakes', () => {
  const all = { ...onGpu, firstRow: 0, rows: 30 }
  const { unit: _, ...withoutUnit } = all
  const { labels: __, ...withoutLabels } = shared
  const use = (..._calls: (() => unknown)[]): void => {}
  use(
    // @ts-expect-error a missing parameter
    () => example.pass(gpu, withoutUnit),
    // @ts-expect-error the items of a pass are missing
    () => example.pass(gpu, onGpu),
    // @ts-expect-error a number instead of a flag
    () => example.pass(gpu, { ...all, unit: 1 }),
    // @ts-expect-error an unknown name
    () => example.pass(gpu, { ...all, wieghts: at(4) }),
    // @ts-expect-error a missing buffer
    () => example.job(memory, { ...withoutLabels, m: 1 }),
    // @ts-expect-error a buffer without the number of its elements
    () => example.job(memory, { ...shared, m: 1, labels: at(4) }),
    // @ts-expect-error an argument of the CPU alone is missing
    () => example.job(memory, shared),
    // @ts-expect-error no such form
    () => example.shader({ points: 'csr', wide: true, lists: 4 }),
    () =>
      declareKernel('mistaken', {
        args: { count: 'u32' },
        // @ts-expect-error the shader is not given that
        gpu: { body: () => '', grid: ({ cuont }) => cuont },
        // @ts-expect-error neither is the function
        cpu: { entry: 'mistaken', items: ({ count }) => count, grain: ({ most }) => most },
      }),
  )
})
