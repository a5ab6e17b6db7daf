/**
 * What a point pays for belonging to a cluster, shared by the kernels of k-means#: see wasm/move-costs.ts. A cluster is its mass
 * and its number of points; for sparse rows also the squared length of the sum of its points.
 *
 * `measured` is the squared distance to the centre, or, of sparse rows, the dot product with the sum. `length`: |x|^2.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'

/** Share of the cost below which a gain is rounding error. */
export const LEAST_GAIN = 1e-6
/**
 * Fraction of the squared weight of a point. If the remaining sum of unit vectors is smaller, its direction is only
 * rounding error.
 */
export const LEAST_LEFT = 1e-5
/** A cluster whose mass is not larger than the weight of a point by this factor is that point. */
export const MORE_THAN_POINT = 1.00001

export const costs = (type: RowType): string => wgsl`
#if ${type === 'csr'}
alias Cluster = vec3f;

fn squaredDistance(dot: f32, length: f32, cluster: Cluster) -> f32 {
  return max(0.0, length + (cluster.z / cluster.x - 2.0 * dot) / cluster.x);
}

fn costToJoin(measured: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) {
    if (cluster.x <= 0.0) { return 0.0; }
    return squaredDistance(measured, length, cluster) * weight * (cluster.x / (cluster.x + weight));
  }
  let more = weight * (2.0 * measured + weight * length);
  return -more / max(sqrt(max(cluster.z + more, 0.0)) + sqrt(cluster.z), 1e-30);
}

fn costToStay(measured: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) { return squaredDistance(measured, length, cluster) * weight * (cluster.x / (cluster.x - weight)); }
  let less = weight * (2.0 * measured - weight * length);
  // The direction of the remaining sum would be only rounding error.
  if (!(cluster.z - less > ${LEAST_LEFT} * weight * weight)) { return -3e38; }
  return -less / max(sqrt(cluster.z - less) + sqrt(cluster.z), 1e-30);
}
#else
alias Cluster = vec2f;

fn costToJoin(measured: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  let mass = cluster.x;
  if (unit == 0u) { return measured * weight * (mass / (mass + weight)); }
  let more = weight * (mass * (length + 1.0 - measured) + weight * length);
  return -more / max(sqrt(max(mass * mass + more, 0.0)) + mass, 1e-30);
}

fn costToStay(measured: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  let mass = cluster.x;
  if (unit == 0u) { return measured * weight * (mass / (mass - weight)); }
  let less = weight * (mass * (length + 1.0 - measured) - weight * length);
  let left = mass * mass - less;
  if (!(left > ${LEAST_LEFT} * weight * weight)) { return -3e38; }
  return -less / max(sqrt(left) + mass, 1e-30);
}
#endif

// A cluster keeps its last point, and the last weight it has; unit vectors may cancel, see costToStay.
fn mayLeave(cluster: Cluster, weight: f32, unit: u32) -> bool {
  return cluster.y > 1.0 && (unit == 1u || cluster.x > weight * ${MORE_THAN_POINT});
}
`
