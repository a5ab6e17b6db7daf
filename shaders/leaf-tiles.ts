/**
 * Squared distances of 16 points to 16 or 32 centres by one workgroup: the inner part of the kernels that process one tree
 * leaf per workgroup.
 *
 * 64 threads as 16 x 4: thread (p, g) accumulates the distances of point p to centres g, g + 4, g + 8 and g + 12 of each
 * tile. Columns come 32 at a time through workgroup memory; 8 neighbouring threads read 8 neighbouring quads of a row, so
 * each row is read once, in whole cache lines. Tiles are nested arrays and indices end in `%`, so that compilers can prove
 * them in range and add no clamps. A pair is summed by one thread in the order of the columns: its distance does not depend
 * on what else is in the tile.
 *
 * The kernel provides the bindings `x` and `centers`, and `params.quads`. Cost: 3 d operations a pair.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { NONE } from './snippets.ts'

/** Points of a tile, and centres of a tile. */
export const TILE_ROWS = 16
export const LEAF_THREADS = 64
/** Quads (4 columns) of a row that are in workgroup memory at a time. */
const QUADS = 8
/** Rows that all threads read at a time. */
const ROWS_AT_ONCE = LEAF_THREADS / QUADS
/** One row more than needed keeps the columns of a row in different memory banks. */
const PADDED = TILE_ROWS + 1

/** Tiles of centres that are needed for a number of candidates, at most two. */
export function centerTiles(candidates: number): 1 | 2 {
  return candidates > TILE_ROWS ? 2 : 1
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const lines = (count: number, line: (i: number) => string): string => range(count).map(line).join('\n')

const tileType = `array<array<vec4f, ${PADDED}>, ${QUADS}>`

export interface PairTiles {
  readonly tiles: 1 | 2
  /** Each point is also measured against a centre of its own (`ownRows`), and its squared length is taken. */
  readonly own: boolean
}

/**
 * Before `measurePairs`: `pointRows` and `centerRows` (and `ownRows`) hold row numbers, NONE where there is no row, and a
 * barrier has passed since they were written. `candidates` is the number of centres, which come first in `centerRows`.
 */
export const pairTiles = ({ tiles, own }: PairTiles): string => wgsl`
${NONE}

var<workgroup> pointRows: array<u32, ${TILE_ROWS}>;
var<workgroup> centerRows: array<u32, ${TILE_ROWS * tiles}>;
var<workgroup> pointTile: ${tileType};
${lines(tiles, (tile) => `var<workgroup> centerTile${tile}: ${tileType};`)}
#if ${own}
var<workgroup> ownRows: array<u32, ${TILE_ROWS}>;
var<workgroup> ownTile: ${tileType};
#endif

struct Pairs {
${lines(tiles, (tile) => `  tile${tile}: vec4f,  // distances to centres g + ${16 * tile}, g + ${16 * tile + 4}, g + ${16 * tile + 8}, g + ${16 * tile + 12}`)}
  own: f32,      // this thread's part of the distance to the point's own centre
  squares: f32,  // and of its squared length: every fourth quad
}

fn centerPart(row: u32, t: u32) -> vec4f {
  if (row == NONE || t >= params.quads) { return vec4f(); }
  return centers[row * params.quads + t];
}

fn pointPart(row: u32, t: u32) -> vec4f {
  if (row == NONE || t >= params.quads) { return vec4f(); }
  return xPart(row, t, params.quads);
}

// withOwn and candidates must be uniform.
fn measurePairs(local: u32, candidates: u32, withOwn: bool) -> Pairs {
  let p = local % ${TILE_ROWS}u;
  let g = (local / ${TILE_ROWS}u) % 4u;
  let quad = local % ${QUADS}u;
  let row = (local / ${QUADS}u) % ${ROWS_AT_ONCE}u;
  var pairs: Pairs;
  for (var first = 0u; first < params.quads; first += ${QUADS}u) {
    let t = first + quad;
${lines(TILE_ROWS / ROWS_AT_ONCE, (i) => `    let point${i} = pointPart(pointRows[row + ${i * ROWS_AT_ONCE}u], t);`)}
${lines((tiles * TILE_ROWS) / ROWS_AT_ONCE, (i) => `    let center${i} = centerPart(centerRows[row + ${i * ROWS_AT_ONCE}u], t);`)}
#if ${own}
${lines(TILE_ROWS / ROWS_AT_ONCE, (i) => `    var own${i} = vec4f();\n    if (withOwn) { own${i} = centerPart(ownRows[row + ${i * ROWS_AT_ONCE}u], t); }`)}
#endif
    workgroupBarrier();
${lines(TILE_ROWS / ROWS_AT_ONCE, (i) => `    pointTile[quad][row + ${i * ROWS_AT_ONCE}u] = point${i};`)}
${lines((tiles * TILE_ROWS) / ROWS_AT_ONCE, (i) => `    centerTile${Math.floor((i * ROWS_AT_ONCE) / TILE_ROWS)}[quad][row + ${(i * ROWS_AT_ONCE) % TILE_ROWS}u] = center${i};`)}
#if ${own}
${lines(TILE_ROWS / ROWS_AT_ONCE, (i) => `    ownTile[quad][row + ${i * ROWS_AT_ONCE}u] = own${i};`)}
#endif
    workgroupBarrier();
#if ${own}
    if (withOwn) {
${lines(
  QUADS / 4,
  (i) => `      {
        let v = pointTile[g + ${4 * i}u][p];
        let gap = v - ownTile[g + ${4 * i}u][p];
        pairs.own += dot(gap, gap);
        pairs.squares += dot(v, v);
      }`,
)}
    }
#endif
${lines(
  QUADS,
  (q) => `    {
      let v = pointTile[${q}][p];
${lines(tiles, (tile) =>
  lines(
    4,
    (i) =>
      `      if (candidates > ${tile * TILE_ROWS + 4 * i}u) { let gap = v - centerTile${tile}[${q}][g + ${4 * i}u]; pairs.tile${tile}[${i}] += dot(gap, gap); }`,
  ),
)}
    }`,
)}
  }
  return pairs;
}
`
