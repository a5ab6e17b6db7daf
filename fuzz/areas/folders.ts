/** Damaged folders: an error, or exactly what was saved. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import type { Draw } from '../draw.ts'
import { attempt, differences, requireFinite, show } from '../judge.ts'
import { damage, editJson } from '../mutations.ts'
import { reseal } from './reseal.ts'
import { SAVED_KINDS, type SavedKind } from './saved-kinds.ts'

export const folders: Area = {
  name: 'folders',
  title: 'damaged model, quantizer and index folders',
  share: 4,
  seconds: 30,
  run,
}

interface Prepared {
  /** The folder that is damaged. */
  readonly folder: string
  /** Another save of the same kind, to be mixed in. */
  readonly other: string
  /** What loading gives, to the bit. */
  readonly results: Record<string, unknown>
  /** The same of the other save. */
  readonly otherResults: Record<string, unknown>
}

const SEED = 1
const prepared = new Map<string, Promise<Prepared>>()

async function prepare(kind: SavedKind): Promise<Prepared> {
  const base = mkdtempSync(join(process.cwd(), 'saved-'))
  const device = await openDevice({ kind: 'cpu', shared: false })
  // Times are part of what is saved. They must be the same in every process, or a case could not be repeated.
  const now = performance.now
  let ticks = 0
  performance.now = () => ticks++ / 1024
  try {
    await kind.save(join(base, 'a'), SEED, device)
    await kind.save(join(base, 'b'), SEED + 1, device)
    const results = await kind.probe(join(base, 'a'), SEED, device)
    const otherResults = await kind.probe(join(base, 'b'), SEED, device)
    return { folder: join(base, 'a'), other: join(base, 'b'), results, otherResults }
  } finally {
    performance.now = now
    await device.close()
  }
}

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  const kind = draw.pick(SAVED_KINDS)
  const saved = prepared.get(kind.name) ?? prepare(kind)
  prepared.set(kind.name, saved)
  const { folder: original, other, results, otherResults } = await saved
  const copy = join(folder(), 'copy')
  cpSync(original, copy, { recursive: true })
  const steps: string[] = []
  for (let left = draw.pick([0, 1, 1, 1, 1, 2]); left > 0; left--) steps.push(damageFolder(draw, copy, other))
  // Someone who edits a folder on purpose makes the checksums fit again: values have to be checked for themselves.
  const resealed = draw.chance(0.4) && reseal(copy)
  note(`${kind.name}: ${steps.join('; ') || 'whole'}${resealed ? '; checksums made to fit' : ''}`)
  const device = await openDevice({ kind: 'cpu', shared: false })
  try {
    const tried = await attempt(() => kind.probe(copy, SEED, device), { told: copy })
    if ('error' in tried) {
      if (steps.length === 0) throw new Failure('wrong result', `a whole folder is refused: ${tried.error.message}`)
      return
    }
    const names = differences(results, tried.value)
    // Where every file was replaced, it is the other save, and whole.
    if (names.length === 0 || differences(otherResults, tried.value).length === 0) return
    if (!resealed) {
      const [name] = names
      throw new Failure(
        'silent acceptance',
        `${names.join(', ')} differ: ${show(tried.value[name])}, not ${show(results[name])}`,
      )
    }
    requireSane(tried.value)
  } finally {
    await device.close()
  }
}

/** Results that edited numbers may rightly make too large for a 32-bit float. */
const MAY_OVERFLOW = new Set(['distances', 'decoded', 'logLikelihoods', 'resumed'])

/** What was edited on purpose may give other results, but no nonsense. */
function requireSane(value: unknown, path = ''): void {
  if (MAY_OVERFLOW.has(path.trim().split(' ').at(-1) ?? '')) return
  if (ArrayBuffer.isView(value)) requireFinite(value as unknown as ArrayLike<number>, `${path} of an edited folder`)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) requireSane(part, `${path} ${name}`)
  }
}

/** Damages one file and says how. */
function damageFolder(draw: Draw, folder: string, other: string): string {
  const files = filesOf(folder)
  if (files.length === 0) return 'nothing left'
  const file = draw.pick(files)
  const name = relative(folder, file)
  const action = draw.pick([
    'bytes',
    'bytes',
    'json',
    'json',
    'json',
    'array',
    'array',
    'remove',
    'mix',
    'swap',
  ] as const)
  if (action === 'json') return damageJson(draw, folder, files)
  if (action === 'array') return damageArray(draw, folder, files)
  if (action === 'remove') {
    rmSync(file)
    return `${name} removed`
  }
  if (action === 'mix') {
    try {
      cpSync(join(other, name), file)
      return `${name} of another save`
    } catch {
      return 'nothing'
    }
  }
  if (action === 'swap') {
    const second = draw.pick(files)
    const [a, b] = [readFileSync(file), readFileSync(second)]
    writeFileSync(file, b)
    writeFileSync(second, a)
    return `${name} and ${relative(folder, second)} swapped`
  }
  const { bytes, how } = damage(draw, readFileSync(file), name.endsWith('.json'))
  writeFileSync(file, bytes)
  return `${name}: ${how}`
}

function damageJson(draw: Draw, folder: string, files: readonly string[]): string {
  const file = draw.pick(files.filter((path) => path.endsWith('.json')))
  if (file === undefined) return 'nothing'
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return 'nothing'
  }
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return 'nothing'
  const how = editJson(draw, value as Record<string, unknown>)
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`)
  return `${relative(folder, file)}: ${how}`
}

/** Another number in an array. */
function damageArray(draw: Draw, folder: string, files: readonly string[]): string {
  const file = draw.pick(files.filter((path) => path.endsWith('.npy')))
  if (file === undefined || statSync(file).size < 132) return 'nothing'
  const bytes = readFileSync(file)
  const words = (bytes.length - 128) >> 2
  const at = draw.pick([0, 1, 2, 8, draw.below(words), draw.below(words)]) % words
  const word = draw.pick([0, 1, 5, 1000, 0x7fffffff, 0xffffffff, 0x7f800000, 0x7fc00000, 0x7f7fffff, 1 << 30, draw.word(), bytes.readUInt32LE(128 + 4 * at) + 1]) >>> 0 // biome-ignore format: a table
  bytes.writeUInt32LE(word, 128 + 4 * at)
  writeFileSync(file, bytes)
  return `${relative(folder, file)}[${at}] = ${word}`
}

function filesOf(folder: string): string[] {
  const found: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) found.push(...filesOf(path))
    else found.push(path)
  }
  return found.sort()
}
