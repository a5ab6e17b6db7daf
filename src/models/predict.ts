/** New points to a model's clusters: the nearest centre, or the leaf of the tree where descending it ends. */

import { matrix, type VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { searchTree } from '../kernels/search-tree.ts'
import { TreeBuffers } from '../trees/flat-tree.ts'
import { searchableTree } from '../trees/label-tree.ts'
import { type Frame, frameOfNew, squaresOutOfFrame } from '../vectors/frame.ts'
import { exactNearest, nearestInFrame } from '../vectors/nearest.ts'
import { PointStore } from '../vectors/points.ts'
import type { ClusterModel, PredictOptions } from './model.ts'
import type { Prediction } from './prediction.ts'
import { predictShares } from './responsibilities.ts'

export async function predictClusters(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  { signal, onProgress, descend = !source.sparse && !isRefined(model) }: PredictOptions,
): Promise<Prediction> {
  const { frame, centers } = model.state
  const fitting = await frameOfNew(source, model.facts.metric, frame)
  if (model.sigmas) return likeliest(device, source, model, { signal, onProgress })
  if (source.sparse && frame.shift) {
    // Sparse rows stay where they are; moving the centres instead changes no distance.
    const unmoved: Frame = { ...fitting, shift: undefined }
    return exactNearest(device, source, model.centers, unmoved, 1, { signal, onProgress })
  }
  if (model.tree && descend) return descendTree(device, source, model, model.tree, fitting, { signal, onProgress })
  const rows = matrix(centers, model.centers.rows, model.centers.cols)
  return nearestInFrame(device, source, rows, fitting, 1, { signal, onProgress })
}

/** Points have gone where the tree does not lead. */
function isRefined({ facts }: ClusterModel): boolean {
  return (facts.options.settings as { readonly refine?: unknown } | undefined)?.refine === true
}

/** Of a mixture a vector belongs to the component that answers most for it, which need not be the nearest. */
async function likeliest(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  control: RunControl,
): Promise<Prediction> {
  const { components, distances } = await predictShares(device, source, model, 1, control)
  return { labels: components, distances }
}

/** Descends to the nearest child of every node, comparing with about branching times log k centres. */
async function descendTree(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  tree: Uint32Array,
  frame: Frame,
  { signal, onProgress }: RunControl,
): Promise<Prediction> {
  const { rows, cols } = model.centers
  const points = await PointStore.open(device, source, { frame })
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, rows, cols, 'f32', 'centres')
    writeRows(device, centers, model.state.centers)
    const flat = searchableTree(tree, model.state.centers, model.sizes, cols)
    const onDevice = new TreeBuffers(device, scope).upload(flat)
    const evaluated = scope.allocate(points.largestPart * 4, 'centres looked at')
    for (const part of points.parts) {
      const vectors = await points.vectors(part)
      const { labels, distances } = part
      await searchTree(
        device,
        { points: vectors, centers, tree: onDevice, checks: 1, labels, distances, evaluated },
        { signal },
      )
      onProgress?.((part.first + part.count) / points.rows)
    }
    const distances = squaresOutOfFrame(await points.readDistances(), frame)
    return { labels: await points.readLabels(), distances }
  } finally {
    scope.free()
    points.free()
  }
}
