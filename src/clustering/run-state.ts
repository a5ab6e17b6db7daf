/** What a run works on, and the two contracts a method is made of: where candidates come from, and what is done with them. */
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, type DeviceRows, readRows, writeRows } from '../kernels/rows.ts'
import type { PointPart, PointStore } from './points.ts'

export interface RunState {
  readonly device: Device
  readonly points: PointStore
  readonly k: number
  /** Centres in the points' frame; they stay on the device between rounds. */
  readonly centers: DeviceRows
  /** Centres are kept at length one. */
  readonly unit: boolean
  readonly seed: number
  readonly totalWeight: number
  readonly control: RunControl
  /** Buffers that live as long as the run. */
  readonly scope: BufferScope
  readonly assignWorkspace: DeviceBuffer
}

/** Which centres a point looks at. Writes `labels` and `distances` of the part; `previous` holds the round before. */
export interface CandidateSource {
  /** Mean number of centres looked at per point. */
  assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number>
}

/** What happens when points have chosen. */
export interface Update {
  /** Called for every part of the points, after they chose. */
  take(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void>
  /** Called when all parts were taken: centres become what they are after the round. */
  finish(state: RunState): Promise<UpdateResult>
}

export interface UpdateResult {
  /** By how much the sum of weighted squared distances fell when the centres moved. */
  readonly gain: number
  /** Clusters without a point. */
  readonly empty: number
  /** Points of each cluster: u32 [k] on the device. */
  readonly counts: DeviceBuffer
}

export interface Method {
  readonly candidates: (state: RunState) => CandidateSource
  readonly update: (state: RunState) => Update
}

export function createRunState(
  device: Device,
  points: PointStore,
  k: number,
  options: { seed: number; totalWeight: number; control: RunControl },
): RunState {
  const scope = new BufferScope(device)
  const centers = allocateRows(scope, k, points.cols, 'f32', 'centres')
  return {
    device,
    points,
    k,
    centers,
    unit: points.frame.unit,
    ...options,
    scope,
    assignWorkspace: scope.allocate(assignWorkspaceBytes(centers), 'prepared centres'),
  }
}

export function writeCenters(state: RunState, centers: Float32Array): void {
  writeRows(state.device, state.centers, centers)
}

export function readCenters(state: RunState): Promise<Float32Array> {
  return readRows(state.device, state.centers)
}
