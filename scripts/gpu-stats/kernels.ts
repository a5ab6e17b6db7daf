/**
 * Every WGSL kernel of shaders/, in the forms that hardware GPUs run. Exported shaders are found by themselves; exported
 * functions that make shaders are called with the arguments listed in `FORMS`. `unlisted` tells which ones are missing
 * there, and a test fails if there are any. Runs in pages too.
 */
import type { Shader, ShaderFeatures } from '../../src/device/contract.ts'

interface Form {
  readonly args: readonly unknown[]
  /** Values of `override` constants, for vectors of 128 columns. */
  readonly constants?: Readonly<Record<string, number>>
  /** Dot products a lane computes at a time, where a loop around the hot one uses them; see `shareWithOuterLoop`. */
  readonly products?: number
}

const form = (...args: unknown[]): Form => ({ args })
const TYPES = [form('f32'), form('u8')]

/** Arguments of functions that make shaders, by file and export. Functions that make parts of WGSL are `PARTS`. */
const PARTS = 'parts'
const SOFTWARE = 'software adapters only'
export const FORMS: Readonly<Record<string, readonly Form[] | typeof PARTS | typeof SOFTWARE>> = {
  'accumulate/scatterBuffers': PARTS,
  'accumulate/sortCount': [form(true), form(false)],
  'accumulate/sortKey': PARTS,
  'accumulate/sortScatter': [form(true), form(false)],
  'accumulate/sumClusters': TYPES,
  'accumulate/sumPieces': TYPES,
  'accumulate-soft/softClusters': TYPES,
  'accumulate-soft/softPieces': TYPES,
  'apply-moves/applyFields': PARTS,
  'apply-moves/applyMovesShader': TYPES,
  'apply-moves-tiled/applyMovesTiled': TYPES,
  'assign/assignBlocks': SOFTWARE,
  'assign/assignTiles': TYPES.map(({ args }) => ({ args, products: 16 })),
  'assign-groups/assignGroupsShader': TYPES,
  'assign-leaves/assignLeavesShader': TYPES,
  'assign-leaves-tiled/assignLeavesTiled': [
    form({ type: 'f32', tiles: 1, around: false }),
    form({ type: 'f32', tiles: 2, around: true }),
    form({ type: 'u8', tiles: 1, around: false }),
  ],
  'assign-lists/assignListsShader': TYPES,
  'assign-many/assignMany': TYPES,
  'assign-many/assignManyPrivate': SOFTWARE,
  'assign-many/privateLists': PARTS,
  'assign-pieces/assignBuffers': PARTS,
  'assign-pieces/settling': PARTS,
  'assign-scalar/assignListed': [{ args: [4], products: 64 }],
  'assign-scalar/assignScalar': [
    { args: ['f32', 4], products: 64 },
    { args: ['u8', 4], products: 64 },
  ],
  'assign-scalar/mergeSplits': TYPES,
  'assign-sparse/assignSparseManyPrivate': SOFTWARE,
  'assign-wide-tiles/assignWideTiles': TYPES.map(({ args }) => ({ args, products: 64 })),
  'code-sums/codeSumsShader': [form('f32', false), form('f32', true), form('u8', false)],
  'distances/distancesBuffers': PARTS,
  'distances/distancesShader': TYPES,
  'distances-tiles/distancesProductsShader': TYPES,
  'distances-tiles/distancesTilesShader': [...TYPES, form('f32', true)],
  'encode/encodePointsPerGroup': PARTS,
  'encode/encodeRegisters': [
    ...[1, 2, 4, 8, 24].map((quads) => form('f32', quads, false, false)),
    form('f32', 4, true, true),
    form('u8', 4, false, false),
  ],
  'encode/encodeShader': [form('f32', false, false), form('f32', true, true), form('u8', false, false)],
  'leaf-tiles/centerTiles': PARTS,
  'leaf-tiles/pairTiles': PARTS,
  'matmul/gramBuffers': PARTS,
  'matmul/gramSlabsShader': [form('f32', 'f32'), form('u8', 'f32'), form('u8', 'u8')],
  'matmul/matmulRowsShader': TYPES,
  'matmul-tiles/gramTilesShader': [form('f32', 'f32'), form('u8', 'f32'), form('u8', 'u8')],
  'matmul-tiles/matmulTilesShader': TYPES,
  'move-gains/gainsFields': PARTS,
  'move-gains/moveGainsShader': TYPES,
  'move-gains-tiled/moveGainsTiled': [form('f32', 1), form('f32', 2), form('u8', 1)],
  'moves-sparse/applyMovesSparse': [form(32)],
  'partition-tree/principalDirectionsShader': TYPES,
  'plus-plus/drawPlusPlus': [...TYPES, form('csr')],
  'plus-plus/measurePlusPlus': [...TYPES, form('csr')],
  'project/projectShader': TYPES,
  'respond/answerList': PARTS,
  'respond/respondAllShader': [form('f32', 16), form('f32', 0), form('u8', 16)],
  'respond/respondListsShader': [form('f32', 16), form('f32', 0), form('u8', 16)],
  'respond-tiles/listRanksShader': [form(16), form(0)],
  'respond-tiles/rankProductsShader': TYPES,
  'respond-tiles/rankTilesShader': [...TYPES, form('f32', true)],
  'rows/rowBuffers': PARTS,
  'rows/rowDistance': PARTS,
  'rows/vectorBuffers': PARTS,
  'scan-codes/scanTasksShader': [form(false), form(true)],
  'scan-codes-shared/scanTasksShared': [form(false), form(true)],
  'search-tree/searchRowsPerGroup': PARTS,
  'search-tree/searchTreePrivate': SOFTWARE,
  'search-tree/searchTreeShader': [form('f32', 32), form('f32', 128), form('f32', 256), form('u8', 128)],
  'shares/sharesOfAllShader': TYPES,
  'shares/sharesOfListsShader': TYPES,
  'sketch-rows/sketchRowsShader': TYPES,
  'sort-tiled/countTiles': [form(true), form(false)],
  'sort-tiled/scatterTiles': [form(true), form(false)],
  'tile-product/tileLoop': PARTS,
  'unroll/unroll': PARTS,
}

export interface Kernel {
  /** File of shaders/, without its ending. */
  readonly file: string
  /** Name of the shader, with the entry point if there are several. */
  readonly name: string
  readonly code: string
  readonly entry: string
  readonly constants?: Readonly<Record<string, number>>
  readonly products?: number
}

/** What a file of shaders/ exports. */
export type ShaderModules = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const isShader = (value: unknown): value is Shader =>
  typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'function'

/** Exported functions that `FORMS` lacks, and entries of `FORMS` that are exported no more. */
export function unlisted(modules: ShaderModules): { missing: string[]; stale: string[] } {
  const functions = new Set<string>()
  for (const [file, exports] of Object.entries(modules)) {
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value === 'function') functions.add(`${file}/${name}`)
    }
  }
  return {
    missing: [...functions].filter((name) => !Object.hasOwn(FORMS, name)),
    stale: Object.keys(FORMS).filter((name) => !functions.has(name)),
  }
}

export function kernelsOf(modules: ShaderModules, features: ShaderFeatures): Kernel[] {
  const kernels: Kernel[] = []
  for (const [file, exports] of Object.entries(modules)) {
    for (const [name, value] of Object.entries(exports)) {
      if (isShader(value)) kernels.push(...entriesOf(file, value, features))
      if (typeof value !== 'function') continue
      const forms = FORMS[`${file}/${name}`]
      if (typeof forms !== 'object') continue
      for (const { args, ...rest } of forms) kernels.push(...entriesOf(file, value(...args), features, rest))
    }
  }
  return kernels
}

/** One kernel for every entry point of a shader. */
function entriesOf(file: string, shader: Shader, features: ShaderFeatures, rest: Omit<Form, 'args'> = {}): Kernel[] {
  const code = shader.code(features)
  const plain = code.replace(/\/\/.*$/gm, '')
  const entries = [...plain.matchAll(/@compute\b[^{;]*?\bfn\s+(\w+)/g)].map(([, entry]) => entry)
  return entries.map((entry) => ({
    file,
    name: entries.length === 1 ? shader.name : `${shader.name}:${entry}`,
    code,
    entry,
    ...rest,
  }))
}
