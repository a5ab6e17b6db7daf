/** The number of the cell of each point. Items are places of `members`, which lists the points cell by cell. */
import { LabelCellsArgs } from './build/assembly/arguments'

export function labelCells(start: u32, end: u32, _scratch: usize, args: LabelCellsArgs): void {
  const members = args.members
  const offsets = args.offsets
  const cells = args.cells
  const labels = args.labels
  // The last cell that begins at `start` or before.
  let cell: u32 = 0
  let beyond = cells
  while (beyond - cell > 1) {
    const middle = cell + ((beyond - cell) >> 1)
    if (load<u32>(offsets + ((<usize>middle) << 2)) <= start) cell = middle
    else beyond = middle
  }
  for (let at = start; at < end; at++) {
    while (load<u32>(offsets + ((<usize>cell) << 2), 4) <= at) cell++
    const point = load<u32>(members + ((<usize>at) << 2))
    store<u32>(labels + ((<usize>point) << 2), cell)
  }
}
