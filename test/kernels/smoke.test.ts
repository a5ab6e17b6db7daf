import { expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { BufferScope } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { allocateRows, writeRows } from '../../src/kernels/rows.ts'

for (const options of [
  { kind: 'cpu' },
  { kind: 'cpu', shared: false },
  { kind: 'webgpu' },
  { kind: 'webgpu', tiled: true },
] as const)
  test(`assign ${JSON.stringify(options)}`, async () => {
    const device = await openDevice(options)
    console.log(device.info.name, device.info.reason)
    const scope = new BufferScope(device)
    const n = 3001,
      k = 77,
      d = 30
    const r = createRandom(1)
    const X = Float32Array.from({ length: n * d }, () => r.normal())
    const C = Float32Array.from({ length: k * d }, () => r.normal())
    const x = allocateRows(scope, n, d, 'f32', 'x'),
      c = allocateRows(scope, k, d, 'f32', 'c')
    writeRows(device, x, X)
    writeRows(device, c, C)
    const labels = scope.allocate(n * 4, 'l'),
      dist = scope.allocate(n * 4, 'd')
    const workspace = scope.allocate(assignWorkspaceBytes(c), 'w')
    await assign(device, { points: x, centers: c, labels, distances: dist, workspace })
    const L = new Uint32Array(await device.read(labels)),
      D = new Float32Array(await device.read(dist))
    let bad = 0
    for (let i = 0; i < n; i++) {
      let best = Infinity,
        at = 0
      for (let j = 0; j < k; j++) {
        let s = 0
        for (let t = 0; t < d; t++) s += (X[i * d + t] - C[j * d + t]) ** 2
        if (s < best) {
          best = s
          at = j
        }
      }
      if (L[i] !== at || Math.abs(D[i] - best) > 1e-4 * best) bad++
    }
    expect(bad).toBe(0)
    const sums = scope.allocate(k * x.stride * 4, 's'),
      totals = scope.allocate(k * 4, 't'),
      counts = scope.allocate(k * 4, 'c')
    await accumulate(device, {
      points: x,
      labels,
      k,
      sums,
      totals,
      counts,
      workspace: createAccumulateWorkspace(device, scope, n, x.stride, k),
    })
    const S = new Float32Array(await device.read(sums)),
      N = new Uint32Array(await device.read(counts))
    expect(N.reduce((a, b) => a + b, 0)).toBe(n)
    const ref = new Float64Array(k * x.stride)
    for (let i = 0; i < n; i++) for (let t = 0; t < d; t++) ref[L[i] * x.stride + t] += X[i * d + t]
    let worst = 0
    for (let i = 0; i < ref.length; i++) worst = Math.max(worst, Math.abs(ref[i] - S[i]))
    expect(worst).toBeLessThan(1e-3)
    await device.close()
  })
