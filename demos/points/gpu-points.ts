/** Points as squares by WebGPU, from two buffers: another view costs a few numbers. Draws into any texture. */
import type { Drawing } from './renderer.ts'

const SHADER = `
struct Frame {
  scale: vec2f,
  offset: vec2f,
  /** Of the picture, in pixels. */
  size: vec2f,
  dot: f32,
  lit: u32,
  colour: u32,
}
@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> points: array<vec2f>;
@group(0) @binding(2) var<storage, read> colours: array<u32>;
@group(0) @binding(3) var<storage, read> marks: array<u32>;

struct Corner {
  @builtin(position) position: vec4f,
  @location(0) @interpolate(flat) colour: vec4f,
}

@vertex
fn corner(@builtin(vertex_index) vertex: u32, @builtin(instance_index) point: u32) -> Corner {
  let side = vec2f(f32(vertex & 1u), f32(vertex >> 1u));
  let hidden = frame.lit == 1u && ((marks[point >> 2u] >> (8u * (point & 3u))) & 255u) == 0u;
  let middle = points[point] * frame.scale + frame.offset;
  let place = round(middle - 0.5 * frame.dot) + side * frame.dot;
  let clip = vec2f(2.0, -2.0) * place / frame.size + vec2f(-1.0, 1.0);
  let colour = unpack4x8unorm(select(colours[point], frame.colour, frame.lit == 1u));
  return Corner(vec4f(select(clip, vec2f(2.0), hidden), 0.0, 1.0), vec4f(colour.rgb * colour.a, colour.a));
}

@fragment
fn dot(@location(0) @interpolate(flat) colour: vec4f) -> @location(0) vec4f {
  return colour;
}
`
const FRAME_BYTES = 48
const LARGER = 2

type Buffers = 'points' | 'colours' | 'marks'

export class GpuPoints {
  readonly #device: GPUDevice
  readonly #pipeline: GPURenderPipeline
  readonly #frames: readonly GPUBuffer[]
  readonly #buffers: { [Name in Buffers]?: GPUBuffer } = {}
  #count = 0

  constructor(device: GPUDevice, format: GPUTextureFormat) {
    this.#device = device
    const module = device.createShaderModule({ code: SHADER })
    this.#pipeline = device.createRenderPipeline({
      layout: 'auto',
      vertex: { module },
      fragment: { module, targets: [{ format }] },
      primitive: { topology: 'triangle-strip' },
    })
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST
    this.#frames = [0, 1].map(() => device.createBuffer({ size: FRAME_BYTES, usage }))
  }

  setPoints(points: Float32Array): void {
    this.#count = points.length / 2
    this.#write('points', points)
    this.#write('colours', new Uint32Array(this.#count))
    this.#write('marks', new Uint8Array(4 * Math.ceil(this.#count / 4)))
  }

  setColours(colours: Uint32Array): void {
    this.#write('colours', colours)
  }

  draw(texture: GPUTexture, { view, dot, lit }: Drawing): void {
    if (this.#count === 0) return
    if (lit) {
      const marks = new Uint8Array(4 * Math.ceil(this.#count / 4))
      marks.set(lit.marks)
      this.#write('marks', marks)
    }
    const encoder = this.#device.createCommandEncoder()
    const attachment = { view: texture.createView(), loadOp: 'clear', storeOp: 'store' } as const
    const pass = encoder.beginRenderPass({ colorAttachments: [attachment] })
    pass.setPipeline(this.#pipeline)
    for (const layer of lit ? [0, 1] : [0]) {
      const words = new ArrayBuffer(FRAME_BYTES)
      const { scaleX, scaleY, offsetX, offsetY } = view
      const side = dot + layer * LARGER
      new Float32Array(words).set([scaleX, scaleY, offsetX, offsetY, texture.width, texture.height, side])
      new Uint32Array(words).set([layer, lit?.colour ?? 0], 7)
      this.#device.queue.writeBuffer(this.#frames[layer], 0, words)
      pass.setBindGroup(0, this.#bindings(layer))
      pass.draw(4, this.#count)
    }
    pass.end()
    this.#device.queue.submit([encoder.finish()])
  }

  #bindings(layer: number): GPUBindGroup {
    const { points, colours, marks } = this.#buffers
    return this.#device.createBindGroup({
      layout: this.#pipeline.getBindGroupLayout(0),
      entries: [this.#frames[layer], points, colours, marks].map((buffer, binding) => ({
        binding,
        resource: { buffer: buffer as GPUBuffer },
      })),
    })
  }

  #write(name: Buffers, data: Float32Array | Uint32Array | Uint8Array): void {
    const size = Math.max(16, data.byteLength)
    if (this.#buffers[name]?.size !== size) {
      this.#buffers[name]?.destroy()
      this.#buffers[name] = this.#device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST })
    }
    this.#device.queue.writeBuffer(this.#buffers[name] as GPUBuffer, 0, data as Float32Array<ArrayBuffer>)
  }
}
