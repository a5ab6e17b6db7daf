/** The points of a store as trees and groups go through them. */
import type { DeviceBuffer } from '../device/contract.ts'
import type { DeviceRows } from '../kernels/rows.ts'

/** Points on a device, in parts that each fit one binding. */
export interface TreePoints {
  readonly rows: number
  readonly cols: number
  readonly stride: number
  readonly parts: readonly TreePart[]
  /** Rows as the device holds them, by their numbers. */
  gather(indices: ArrayLike<number>): Promise<Float32Array>
  /** Weights of the points, none of them 0 where trees are grown. Default: all 1. */
  readonly weights?: Float32Array | undefined
  /** Set where rows are sparse: then only the few rows that become centres are gathered. */
  readonly sparse?: SparseComparison | undefined
}

export interface SparseComparison {
  /** Looks at some rows: tells whether the i-th and the j-th of them are the same. */
  compare(indices: ArrayLike<number>): (i: number, j: number) => boolean
}

export interface TreePart {
  readonly first: number
  readonly count: number
  /** Weights of the part's points, on the device. */
  readonly weights?: DeviceBuffer | undefined
  vectors(): Promise<DeviceRows>
}
