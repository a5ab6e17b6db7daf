/** Work on a device other than clustering, with results as bits: for areas that compare runs under other conditions. */
import {
  type ClusterModel,
  cluster,
  type Device,
  InvertedFile,
  matrix,
  nearest,
  partitionTrees,
  QUANTIZER_TYPES,
  sparseMatrix,
  trainQuantizer,
} from '../../src/index.ts'
import type { Draw } from '../draw.ts'
import { drawProblem, drawVectors, type ProblemLimits, partsOf } from '../problem.ts'

export interface Task {
  readonly text: string
  /** The same bits whenever it is run. */
  run(
    device: Device,
    control?: { signal?: AbortSignal; onProgress?: (...args: unknown[]) => void },
  ): Promise<Record<string, unknown>>
}

export function drawTask(draw: Draw, limits: ProblemLimits & { clusteringShare?: number } = {}): Task {
  if (draw.chance(limits.clusteringShare ?? 0.75)) return clusteringTask(draw, limits)
  const rows = draw.between(4, limits.mostRows ?? 60)
  const cols = draw.pick([2, 3, 4, 8, 9, 16])
  const { vectors, kind } = drawVectors(draw, rows, cols)
  const shape = `${rows} x ${cols} ${kind}`
  const seed = draw.below(100)
  const task = draw.pick(['nearest', 'trees', 'quantizer', 'inverted', 'sparse'] as const)
  if (task === 'nearest') {
    const m = draw.between(1, Math.min(rows, 20))
    const among = vectors.data instanceof Uint8Array ? matrix(Float32Array.from(vectors.data), rows, cols) : vectors
    return {
      text: `nearest ${m} of ${shape}`,
      run: async (device, control) => ({ ...(await nearest(vectors, among, { m, device, ...control })) }),
    }
  }
  if (task === 'trees') {
    const options = { trees: draw.between(1, 3), leafSize: draw.between(1, 12), seed }
    return {
      text: `partition trees of ${shape}, ${JSON.stringify(options)}`,
      run: async (device) => {
        const trees = await partitionTrees(vectors, { ...options, device })
        return { trees: trees.map(({ members, offsets }) => ({ members, offsets })) }
      },
    }
  }
  const type = draw.pick(QUANTIZER_TYPES)
  const bits = type === 'ok' || type === 'itq'
  const m = draw.between(1, cols)
  const settings = {
    type,
    m,
    seed,
    iterations: draw.between(1, 6),
    ...(bits ? {} : { codewords: draw.between(1, Math.min(rows, 20)) }),
  }
  if (task === 'quantizer') {
    return {
      text: `quantizer of ${shape}, ${JSON.stringify(settings)}`,
      run: async (device, control) => {
        const quantizer = await trainQuantizer(vectors, { ...settings, device, ...control })
        const codes = await quantizer.encode(vectors, { device })
        const found = await quantizer.search(codes, vectors, { nearest: Math.min(5, rows), device })
        const decoded = await quantizer.decode(codes, { device })
        return { codes: codes.data, decoded: decoded.data, ...found, distortion: quantizer.distortion }
      },
    }
  }
  if (task === 'inverted') {
    const k = draw.between(1, 3)
    const flat = { ...settings, type: 'pq' as const, codewords: Math.min(rows, 4) }
    return {
      text: `inverted file of ${shape}, k ${k}, ${JSON.stringify(flat)}`,
      run: async (device) => {
        const model = await cluster(vectors, { k, device, seed })
        const file = await InvertedFile.train(vectors, model, { ...flat, device })
        try {
          await file.add(vectors, { device })
          return { ...(await file.search(vectors, { nearest: 3, probe: k, device })) }
        } finally {
          await file.close()
        }
      },
    }
  }
  return sparseTask(draw, seed)
}

function clusteringTask(draw: Draw, limits: ProblemLimits): Task {
  const { vectors, options, text } = drawProblem(draw, limits)
  return {
    text,
    run: async (device, control) => {
      const model = await cluster(vectors, { ...options, device, ...control })
      return { ...partsOf(model), ...(await predictions(model, vectors, device)) }
    },
  }
}

async function predictions(
  model: ClusterModel,
  vectors: Parameters<typeof cluster>[0],
  device: Device,
): Promise<Record<string, unknown>> {
  const { labels, distances } = await model.assign(vectors, { device })
  return { predicted: labels, distances }
}

function sparseTask(draw: Draw, seed: number): Task {
  const rows = draw.between(2, 30)
  const cols = draw.between(2, 40)
  const offsets = [0]
  const columns: number[] = []
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < cols; column++) if (draw.chance(0.2)) columns.push(column)
    offsets.push(columns.length)
  }
  const values = columns.map(() => draw.between(1, 5))
  const vectors = sparseMatrix({ offsets, columns, values }, rows, cols)
  const method = draw.pick(['lloyd', 'sharp', 'bisecting'] as const)
  const options = { method, k: draw.between(1, Math.min(rows, 5)), seed, iterations: 5 }
  return {
    text: `sparse ${rows} x ${cols}, ${columns.length} entries, ${JSON.stringify(options)}`,
    run: async (device, control) => partsOf(await cluster(vectors, { ...options, device, ...control })),
  }
}
