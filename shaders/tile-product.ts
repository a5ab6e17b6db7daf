/**
 * Rows against rows in register tiles, for hardware: 256 threads share tiles of 128 left rows x 128 right rows x 8
 * columns in workgroup memory, and each keeps 8 x 8 sums in registers. The next tiles are fetched while the current
 * ones are multiplied, with one barrier per step. Kernels add what happens to the sums.
 */
import { COMPONENTS, unroll } from './unroll.ts'

export const PRODUCT_TILE = { rows: 128, threads: 256, each: 8, side: 16 } as const
const { rows: ROWS, each: EACH, side: SIDE } = PRODUCT_TILE
const QUADS = 2 // quads of columns in a tile: 256 threads fetch one quad each of both

/**
 * `products`: sums of x y. `blocks`: the same, but the 8 columns of a tile are added up first, so that fewer roundings add
 * up over many columns. `differences`: sums of (x - y)^2.
 */
export type TileSum = 'products' | 'blocks' | 'differences'

/** Thread (tx, ty) owns left rows ty + 16 i and right rows tx + 16 j, for i and j from 0 to 7; the sums are s0_0 to s7_7. */
export const tileDeclarations = `
// Nested arrays: an index that is provably inside needs no clamp.
var<workgroup> leftTile: array<array<vec4f, ${ROWS * QUADS}>, 2>;   // [half][quad, row]
var<workgroup> rightTile: array<array<vec4f, ${ROWS * QUADS}>, 2>;  // [half][quad, row]
`

const step = (sum: TileSum, i: number, j: number, l: string): string =>
  sum === 'products'
    ? `s${i}_${j} = fma(x${i}.${l}, y${j}.${l}, s${i}_${j});`
    : `{ let gap = x${i}.${l} - y${j}.${l}; s${i}_${j} = fma(gap, gap, s${i}_${j}); }`

/** One quad at a time, which keeps few of them in registers. */
const quadByQuad = (sum: TileSum): string =>
  unroll(
    QUADS,
    (q) => `    {
${unroll(EACH, (j) => `      let y${j} = rightTile[half][${q * ROWS + SIDE * j}u + tx];`)}
${unroll(
  EACH,
  (i) => `      let x${i} = leftTile[half][${q * ROWS + SIDE * i}u + ty];
${COMPONENTS.map((l) => unroll(EACH, (j) => `      ${step(sum, i, j, l)}`)).join('\n')}`,
)}
    }`,
  )

/** All columns of the tile for a pair of rows, then the next pair. */
const pairByPair = (): string => `    {
${unroll(QUADS, (q) => unroll(EACH, (j) => `      let y${j}_${q} = rightTile[half][${q * ROWS + SIDE * j}u + tx];`))}
${unroll(
  EACH,
  (i) => `${unroll(QUADS, (q) => `      let x${i}_${q} = leftTile[half][${q * ROWS + SIDE * i}u + ty];`)}
${unroll(EACH, (j) => `      s${i}_${j} += ${blockProduct(i, j)};`)}`,
)}
    }`

const blockProduct = (i: number, j: number): string =>
  Array.from({ length: QUADS * 4 }, (_, column) => {
    const at = (name: string, row: number) => `${name}${row}_${Math.floor(column / 4)}.${COMPONENTS[column % 4]}`
    return [at('x', i), at('y', j)]
  }).reduce((sum, [x, y]) => (sum === '' ? `${x} * ${y}` : `fma(${x}, ${y}, ${sum})`), '')

/**
 * The loop over the columns. Needs `local`, `quads`, `leftRow(i)` and `rightRow(j)`, which give rows of the tile that
 * exist, and `leftPart(row, t)` and `rightPart(row, t)`, which give zero past the last columns. `onFetch` is done with
 * every quad of both sides that the thread fetches: `nextLeft` and `nextRight`.
 */
export const tileLoop = (sum: TileSum, { onFetch = '' }: { onFetch?: string } = {}): string => `
  let tx = local % ${SIDE}u;
  let ty = local / ${SIDE}u;
  // Two neighbouring threads fetch the quads of a row.
  let fetchQuad = local % ${QUADS}u;
  let slot = fetchQuad * ${ROWS}u + local / ${QUADS}u;
  let fetchLeft = leftRow(firstLeft + local / ${QUADS}u);
  let fetchRight = rightRow(firstRight + local / ${QUADS}u);
${unroll(EACH, (i) => unroll(EACH, (j) => `  var s${i}_${j} = 0.0;`, ' '))}
  {
    let nextLeft = leftPart(fetchLeft, fetchQuad);
    let nextRight = rightPart(fetchRight, fetchQuad);
    ${onFetch}
    leftTile[0][slot] = nextLeft;
    rightTile[0][slot] = nextRight;
  }
  workgroupBarrier();
  let steps = (quads + ${QUADS - 1}u) / ${QUADS}u;
  for (var step = 0u; step < steps; step++) {
    let nextLeft = leftPart(fetchLeft, (step + 1u) * ${QUADS}u + fetchQuad);
    let nextRight = rightPart(fetchRight, (step + 1u) * ${QUADS}u + fetchQuad);
    ${onFetch}
    let half = step & 1u;
${sum === 'blocks' ? pairByPair() : quadByQuad(sum)}
    leftTile[(step + 1u) & 1u][slot] = nextLeft;
    rightTile[(step + 1u) & 1u][slot] = nextRight;
    workgroupBarrier();
  }
`
