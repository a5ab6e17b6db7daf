/** The lines that measure the exact assignment on each device, as the page does. */
export const CODE = `import { blobs, matrix, nearest, openDevice } from 'centroidal'

const [rows, cols, k] = [16384, 128, 512]
const { vectors } = blobs({ rows, cols, clusters: k, seed: 3 })
const centers = matrix(vectors.data.slice(0, k * cols), k, cols)
const labels = []
for (const kind of ['webgpu', 'cpu']) {
  try {
    const device = await openDevice({ kind })
    await nearest(vectors, centers, { device }) // compiles
    const began = performance.now()
    labels.push((await nearest(vectors, centers, { device })).labels)
    const seconds = (performance.now() - began) / 1000
    console.log(device.info.name, (2 * rows * cols * k) / seconds / 1e9, 'GFLOP/s')
    await device.close()
  } catch (error) {
    console.log(kind, error.message) // no GPU
  }
}
const [gpu, cpu] = labels
if (cpu) console.log('equal labels:', gpu.filter((label, i) => label === cpu[i]).length / rows)`
