/** How work is cut to a device's limits. Pure, so that it is tested without a device. */
import { CentroidalError } from '../core/errors.ts'

export interface Range {
  readonly start: number
  readonly end: number
}

/** Cuts 0..rows into ranges of at most `most` rows, all but the last a multiple of `multiple` where that is possible. */
export function cutRows(rows: number, most: number, multiple = 1): Range[] {
  if (rows === 0) return []
  const size = Math.max(multiple, Math.floor(most / multiple) * multiple)
  const ranges: Range[] = []
  for (let start = 0; start < rows; start += size) ranges.push({ start, end: Math.min(start + size, rows) })
  return ranges
}

/** Rows that fit into `bytes`; an error that names the thing if not even one does. */
export function rowsWithin(bytes: number, rowBytes: number, what: string): number {
  const rows = Math.floor(bytes / rowBytes)
  if (rows < 1) {
    throw new CentroidalError(
      'out-of-memory',
      `One row of ${what} takes ${rowBytes} bytes and the largest binding of the device is ${bytes}: use fewer dimensions or another device.`,
    )
  }
  return rows
}

/** Ranges of rows so that each range fits one binding and starts where a binding may start. */
export function cutForBinding(
  rows: number,
  rowBytes: number,
  limits: { bindingBytes: number; bindingAlignment: number },
  what: string,
): Range[] {
  const most = rowsWithin(limits.bindingBytes, rowBytes, what)
  return cutRows(rows, most, alignmentRows(rowBytes, limits.bindingAlignment))
}

/** The smallest number of rows whose bytes are a multiple of the alignment. */
export function alignmentRows(rowBytes: number, alignment: number): number {
  let rows = 1
  while ((rows * rowBytes) % alignment !== 0) rows++
  return rows
}

/** Rows a pass may take so that it stays under a number of operations; at least `atLeast`. */
export function rowsWithinOperations(operations: number, perRow: number, atLeast: number): number {
  return Math.max(atLeast, Math.floor(operations / Math.max(perRow, 1)))
}

/** A grid of workgroups that covers `threads`, folded into two dimensions where one is too long. */
export function gridFor(threads: number, workgroupSize: number, limit: number): [number, number] {
  const groups = Math.max(1, Math.ceil(threads / workgroupSize))
  if (groups <= limit) return [groups, 1]
  const y = Math.ceil(groups / limit)
  const x = Math.ceil(groups / y)
  if (y > limit) {
    throw new CentroidalError(
      'out-of-memory',
      `${threads} threads exceed one dispatch of ${limit} x ${limit} workgroups of ${workgroupSize}.`,
    )
  }
  return [x, y]
}
