/**
 * What a point pays for belonging to a cluster, shared by the kernels of k-means#: see wasm/prices.ts.
 * clusters: array<vec2f>, mass and number of points.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'

/** Share of the price below which a gain is rounding error. */
export const LEAST_GAIN = 1e-6
/** Of the squared weight of a point: a smaller sum of unit vectors that stays behind has no direction worth the name. */
export const LEAST_LEFT = 1e-5
/** A cluster whose mass is not larger than the weight of a point by this factor is that point. */
export const MORE_THAN_POINT = 1.00001

export const prices = wgsl`
fn priceToJoin(distance: f32, squares: f32, mass: f32, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) { return distance * weight * (mass / (mass + weight)); }
  let more = weight * (mass * (squares + 1.0 - distance) + weight * squares);
  return -more / max(sqrt(max(mass * mass + more, 0.0)) + mass, 1e-30);
}

fn priceToStay(distance: f32, squares: f32, mass: f32, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) { return distance * weight * (mass / (mass - weight)); }
  let less = weight * (mass * (squares + 1.0 - distance) - weight * squares);
  let left = mass * mass - less;
  if (!(left > ${LEAST_LEFT} * weight * weight)) { return -3e38; }
  return -less / max(sqrt(left) + mass, 1e-30);
}

fn mayLeave(cluster: vec2f, weight: f32, unit: u32) -> bool {
  return cluster.y > 1.0 && (unit == 1u || cluster.x > weight * ${MORE_THAN_POINT});
}
`
