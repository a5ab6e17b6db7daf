/** TensorFlow.js on the same WebGPU adapter: a matrix product followed by an argmax, as one writes it there. */
import type { Matrix } from '../src/index.ts'
import { peerPackage } from './peers.ts'

interface Tensor {
  data(): Promise<Int32Array>
  dispose(): void
}

interface TensorFlow {
  setBackend(name: string): Promise<boolean>
  ready(): Promise<void>
  tensor2d(data: Float32Array, shape: [number, number]): Tensor
  tensor1d(data: Float32Array): Tensor
  tidy<T>(work: () => T): T
  matMul(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Tensor
  sub(a: Tensor, b: Tensor): Tensor
  argMax(a: Tensor, axis: number): Tensor
}

/** The shortest of so many runs counts. */
const RUNS = 2

export async function tensorflowAssign(
  vectors: Matrix,
  centers: Matrix,
): Promise<{ seconds: number; labels: Int32Array; adapter: string } | undefined> {
  const adapter = await giveNavigatorGpu()
  const tf = await peerPackage<TensorFlow>('@tensorflow/tfjs-core')
  const backend = await peerPackage<object>('@tensorflow/tfjs-backend-webgpu')
  if (!tf || !backend || !(await tf.setBackend('webgpu'))) return undefined
  await tf.ready()
  const halves = Float32Array.from({ length: centers.rows }, (_, j) => {
    let squares = 0
    for (let t = 0; t < centers.cols; t++) squares += centers.data[j * centers.cols + t] ** 2
    return squares / 2
  })
  const c = tf.tensor2d(centers.data as Float32Array, [centers.rows, centers.cols])
  const h = tf.tensor1d(halves)
  const assign = async (x: Tensor): Promise<Int32Array> => {
    // argMax of x . c - |c|^2 / 2 is the argmin of the distance.
    const labels = tf.tidy(() => tf.argMax(tf.sub(tf.matMul(x, c, false, true), h), 1))
    const data = await labels.data()
    labels.dispose()
    return data
  }
  const few = Math.min(256, vectors.rows)
  const warm = tf.tensor2d((vectors.data as Float32Array).subarray(0, few * vectors.cols), [few, vectors.cols])
  await assign(warm)
  const x = tf.tensor2d(vectors.data as Float32Array, [vectors.rows, vectors.cols])
  let labels = await assign(x)
  let seconds = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    const began = performance.now()
    labels = await assign(x)
    seconds = Math.min(seconds, (performance.now() - began) / 1000)
  }
  return { seconds, labels, adapter }
}

/** TensorFlow.js looks for navigator.gpu; Node has it through the same Dawn and driver we just used. */
async function giveNavigatorGpu(): Promise<string> {
  const { create } = (await import('webgpu')) as unknown as { create(flags: string[]): GPU }
  const gpu = create([])
  Object.defineProperty(globalThis, 'navigator', { value: { gpu, userAgent: 'node' }, configurable: true })
  const info = (await gpu.requestAdapter({ powerPreference: 'high-performance' }))?.info
  return [info?.vendor, info?.architecture, info?.description || info?.device].filter(Boolean).join(' ')
}
