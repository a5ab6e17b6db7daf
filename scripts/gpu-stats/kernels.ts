/**
 * Every WGSL kernel of shaders/, in the forms that hardware GPUs run. Exported shaders are found by themselves; exported
 * functions that make shaders are called with the arguments listed in `FORMS`. `unlisted` tells which ones are missing
 * there, and a test fails if there are any.
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
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
  'accumulate/sortCount': [form(true), form(false)],
  'accumulate/sortScatter': [form(true), form(false)],
  'accumulate/sumClusters': TYPES,
  'accumulate/sumPieces': TYPES,
  'accumulate-soft/softClusters': TYPES,
  'accumulate-soft/softPieces': TYPES,
  'apply-moves/applyMovesShader': TYPES,
  'assign/assignBlocks': SOFTWARE,
  'assign/assignTiles': TYPES.map(({ args }) => ({ args, products: 16 })),
  'assign-groups/assignGroupsShader': TYPES,
  'assign-leaves/assignLeavesShader': TYPES,
  'assign-lists/assignListsShader': TYPES,
  'assign-many/assignMany': [form('f32', 16), form('f32', 64), form('u8', 16), form('u8', 64)],
  'assign-many/nearestLists': PARTS,
  'assign-sparse/assignSparseMany': [form(16), form(64)],
  'code-sums/codeSumsShader': [form('f32', false), form('f32', true), form('u8', false)],
  'distances/distancesShader': TYPES,
  'encode/encodeShader': [form('f32', false, false), form('f32', true, true), form('u8', false, false)],
  'matmul/gramSlabsShader': [form('f32', 'f32'), form('u8', 'f32'), form('u8', 'u8')],
  'matmul/matmulRowsShader': TYPES,
  'move-gains/moveGainsShader': TYPES,
  'moves-sparse/applyMovesSparse': [form(32)],
  'partition-tree/principalDirectionsShader': TYPES,
  'pieces/rowsBinding': PARTS,
  'pieces/sparseBindings': PARTS,
  'plus-plus/drawPlusPlus': [...TYPES, form('csr')],
  'plus-plus/measurePlusPlus': [...TYPES, form('csr')],
  'project/projectShader': TYPES,
  'respond/respondAllShader': [form('f32', 16), form('f32', 64), form('u8', 16)],
  'respond/respondListsShader': [form('f32', 16), form('f32', 64), form('u8', 16)],
  'scan-codes/scanTasksShader': [form(false), form(true)],
  'search-tree/searchTreeShader': [form('f32', 32), form('f32', 128), form('f32', 256), form('u8', 128)],
  'shares/sharesOfAllShader': TYPES,
  'shares/sharesOfListsShader': TYPES,
  'sketch-rows/sketchRowsShader': TYPES,
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

export async function loadShaders(): Promise<ShaderModules> {
  const folder = fileURLToPath(new URL('../../shaders', import.meta.url))
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -'.ts'.length))
  const modules = files.sort().map(async (file) => [file, await import(`../../shaders/${file}.ts`)] as const)
  return Object.fromEntries(await Promise.all(modules))
}

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
