/**
 * The cost of a point x of weight w in a cluster: moving lowers the objective if joining another cluster costs less than staying.
 * `mass` is the weight W of the cluster, or, with `unit` (vectors and centres of length one), the length of the sum D of its points.
 *
 * Squared distances. With the mean c at distance d from x, joining moves the mean to c' = c + w / (W + w) (x - c), so the sum of
 * squares grows by
 *
 *     W |c' - c|^2 + w |x - c'|^2 = (W w^2 + w W^2) / (W + w)^2 d^2 = w W / (W + w) d^2
 *
 * Leaving is the inverse: the remaining points have mass W - w and a mean at distance W / (W - w) d from x, so the sum of squares
 * falls by w (W - w) / W (W / (W - w) d)^2 = w W / (W - w) d^2, the cost of staying.
 *
 * Unit vectors. The objective is minus the sum of all |D|: joining costs |D| - |D + w x|, and staying costs |D - w x| - |D|.
 */
import { LEAST_LEFT, MORE_THAN_POINT } from './build/assembly/arguments'
import { Rows } from './rows'
import { squaredLength } from './simd'

/** clusters: f32 [k][2], mass and number of points. */
const CLUSTER_BYTES: usize = 8

export function massOf(clusters: usize, cluster: u32): f32 {
  return load<f32>(clusters + <usize>cluster * CLUSTER_BYTES)
}

export function setCluster(clusters: usize, cluster: u32, mass: f32, more: f32): void {
  const at = clusters + <usize>cluster * CLUSTER_BYTES
  store<f32>(at, mass)
  store<f32>(at, load<f32>(at, 4) + more, 4)
}

/** A cluster keeps its last point, and the last weight it has; unit vectors may cancel, see costToStay. */
export function mayLeave(clusters: usize, cluster: u32, weight: f32, unit: u32): bool {
  const count = load<f32>(clusters + <usize>cluster * CLUSTER_BYTES, 4)
  return count > 1 && (unit !== 0 || massOf(clusters, cluster) > weight * <f32>MORE_THAN_POINT)
}

export function weightOf(weights: usize, point: u32): f32 {
  return weights ? load<f32>(weights + ((<usize>point) << 2)) : 1
}

/** squares: squared length of the point. Written so that no digits cancel when the mass is large. */
export function costToJoin(distance: f32, squares: f32, mass: f32, weight: f32, unit: u32): f32 {
  if (!unit) return distance * weight * (mass / (mass + weight))
  const more = weight * (mass * (squares + 1 - distance) + weight * squares)
  return -more / max<f32>(Mathf.sqrt(max<f32>(mass * mass + more, 0)) + mass, 1e-30)
}

/** -Infinity if the direction of the remaining sum of unit vectors would be only rounding error. */
export function costToStay(distance: f32, squares: f32, mass: f32, weight: f32, unit: u32): f32 {
  if (!unit) return distance * weight * (mass / (mass - weight))
  const less = weight * (mass * (squares + 1 - distance) - weight * squares)
  const left = mass * mass - less
  if (!(left > <f32>LEAST_LEFT * weight * weight)) return -Infinity
  return -less / max<f32>(Mathf.sqrt(left) + mass, 1e-30)
}

/** costToJoin for four points at once. */
export function costsToJoin(distance: v128, squares: v128, mass: f32, weight: v128, unit: u32): v128 {
  const all = f32x4.splat(mass)
  if (!unit) return f32x4.mul(f32x4.mul(distance, weight), f32x4.div(all, f32x4.add(all, weight)))
  const along = f32x4.sub(f32x4.add(squares, f32x4.splat(1)), distance)
  const more = f32x4.mul(weight, f32x4.add(f32x4.mul(all, along), f32x4.mul(weight, squares)))
  const length = f32x4.sqrt(f32x4.max(f32x4.add(f32x4.mul(all, all), more), f32x4.splat(0)))
  return f32x4.neg(f32x4.div(more, f32x4.max(f32x4.add(length, all), f32x4.splat(1e-30))))
}

/** The exact cost that a dense point pays for joining a cluster. */
export function joinRows(
  points: Rows,
  centers: usize,
  clusters: usize,
  unit: u32,
  cluster: u32,
  point: u32,
  weight: f32,
): f32 {
  const stride = points.stride
  const distance = points.distance(point, centers + ((<usize>cluster * stride) << 2), 0)
  const squares = unit ? squaredLength(points.at(point), points.kind, stride) : 0
  return costToJoin(distance, squares, massOf(clusters, cluster), weight, unit)
}
