/** Edited JSON under a report: a proper page, or one sentence. Nothing of the JSON becomes markup. */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { blobs, writeLabels, writeVectors } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import { runCliHere } from '../cli-here.ts'
import type { Draw } from '../draw.ts'
import { editJson } from '../mutations.ts'
import { requireProper } from './command-line.ts'
import { reseal } from './reseal.ts'

export const reports: Area = {
  name: 'report',
  title: '`report` on edited JSON, script injection',
  share: 4,
  seconds: 60,
  casesPerProcess: 300,
  run,
}

const MARKER = 'zqx7'
/** Strings and JSON types that would show as markup if they were not escaped. */
const INJECTIONS: readonly unknown[] = [
  `<script>${MARKER}</script>`,
  `"><img src=x onerror=${MARKER}>`,
  `'"--></style></script><svg onload=${MARKER}>`,
  { text: `<script>${MARKER}</script>` },
  { html: `<script>${MARKER}</script>`, text: `<b>${MARKER}</b>` },
  [{ text: `<script>${MARKER}</script>` }],
  [`<script>${MARKER}</script>`],
  { toString: `<script>${MARKER}</script>` },
  `javascript:${MARKER}`,
]

let prepared: Promise<string> | undefined

async function prepare(): Promise<string> {
  const cwd = mkdtempSync(join(process.cwd(), 'runs-'))
  const { vectors, labels } = blobs({ rows: 40, cols: 4, clusters: 3, seed: 1 })
  await writeVectors(join(cwd, 'vectors.npy'), vectors)
  await writeLabels(join(cwd, 'truth.npy'), labels)
  for (const args of [
    ['cluster', 'vectors.npy', '-k', '3', '--truth', 'truth.npy', '--image', '2x2', '--title', 'One', '--out', 'lloyd'],
    ['cluster', 'vectors.npy', '--method', 'agm', '--out', 'mixture'],
    ['quantize', 'vectors.npy', '--type', 'ck', '-m', '2', '--codewords', '4', '--out', 'quantizer'],
  ]) {
    const ended = await runCliHere(args, { cwd, patience: 60_000 })
    if (ended.code !== 0) throw new Failure('wrong result', `${args.join(' ')}: ${ended.stderr}`)
  }
  return cwd
}

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  prepared ??= prepare()
  const cwd = join(folder(), 'here')
  cpSync(await prepared, cwd, { recursive: true })
  const runs = draw.pick([['lloyd'], ['mixture'], ['quantizer'], ['lloyd', 'mixture'], ['mixture', 'lloyd']])
  const edited = draw.pick(runs)
  const inject = draw.chance(0.4)
  const steps = Array.from({ length: draw.pick([1, 1, 2]) }, () => edit(draw, join(cwd, edited), inject))
  const resealed = reseal(join(cwd, edited))
  const args = ['report', ...runs, '--out', 'page.html']
  note(`${args.join(' ')} after ${steps.join('; ')}${resealed ? '; checksums made to fit' : ''}`)
  const ended = await runCliHere(args, { cwd, patience: 20_000 })
  requireProper(ended)
  if (ended.code === 0) requireProperPage(readFileSync(join(cwd, 'page.html'), 'utf8'))
}

function edit(draw: Draw, folder: string, inject: boolean): string {
  const name = draw.pick(['run.json', 'model.json'])
  const path = join(folder, name)
  const value = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  const injection = draw.pick(INJECTIONS)
  const how = editJson(draw, value, inject ? injection : undefined)
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
  return `${name}: ${how}`
}

function requireProperPage(page: string): void {
  // Data for scripts and styles are no text that anyone reads.
  const visible = page.replaceAll(/<(style|script)\b[\s\S]*?<\/\1>/g, '').replaceAll(/\bcontent="[^"]*"/g, '')
  requireNoInjection(page)
  const slip = /\bNaN\b|\bundefined\b|\bInfinity\b|\[object \w+\]/.exec(visible)
  if (!slip) return
  // What the JSON itself said may be shown.
  const around = visible.slice(Math.max(0, slip.index - 60), slip.index + 30)
  throw new Failure('wrong result', `"${slip[0]}" on the page: ${around}`)
}

/** Nothing of the JSON may be an element, an attribute that acts, or part of a script. */
function requireNoInjection(page: string): void {
  const { document } = parseHTML(page)
  for (const element of document.querySelectorAll('*')) {
    const name = element.tagName.toLowerCase()
    const acts = ['script', 'img', 'b', 'style', 'iframe'].includes(name)
    const inText = acts && element.textContent?.includes(MARKER)
    const attributes = [...element.attributes].filter(
      (attribute) => attribute.value.includes(MARKER) && /^(on\w+|href|src|srcdoc|style|action)$/.test(attribute.name),
    )
    if (!inText && attributes.length === 0) continue
    throw new Failure('wrong result', `injected markup: ${element.outerHTML.slice(0, 160)}`)
  }
}
