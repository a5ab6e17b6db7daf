/** The colours page: a picture, a palette, and the rounds in between. */
import type { Matrix } from '../../src/index.ts'
import { type Run, RunFailure } from '../engine/engine.ts'
import { clusteringCode, codePanel } from '../shell/code-panel.ts'
import { element, put, retire, showNumber } from '../shell/dom.ts'
import { download } from '../shell/download.ts'
import { takeFiles } from '../shell/files.ts'
import { fillMethods, findsCount, isMethodChoice, type MethodChoice, stopReason } from '../shell/method-choices.ts'
import { pacedRun } from '../shell/paced-run.ts'
import { openPage, type Page } from '../shell/page.ts'
import { plural, showBytes } from '../shell/phrases.ts'
import { readQuery, writeQuery } from '../shell/query.ts'
import { toOklab } from './oklab.ts'
import type { OpenedPicture } from './open-picture.ts'
import { type PaletteFormat, paletteText, psnr } from './palette.ts'
import { mostColours, opaquePixels } from './picture.ts'
import { type ColourLook, type ColourResult, type ColourRound, colourOptions } from './quantize.ts'
import { openStage } from './stage.ts'
import { swatches } from './swatches.ts'

const DEFAULTS = { k: 16, method: 'auto', seed: 1, oklab: false }
/** After a change of a number, so that typing 256 does not begin with 2. */
const PAUSE = 300

const controls = element('controls', HTMLFormElement)
const k = element('k', HTMLInputElement)
const kRange = element('k-range', HTMLInputElement)
const method = element('method', HTMLSelectElement)
const seed = element('seed', HTMLInputElement)
const oklab = element('oklab', HTMLInputElement)
const runButton = element('run', HTMLButtonElement)
const stopButton = element('stop', HTMLButtonElement)
const save = element('save', HTMLButtonElement)
const copyButtons = [...document.querySelectorAll<HTMLButtonElement>('[data-copy]')]

const stage = openStage()
const palette = swatches(element('palette'), (hex) => void copy(hex, hex))

const code = codePanel(() => page, pixelsShown)

let opened: OpenedPicture | undefined
let colours: Uint8Array | undefined
let file: { readonly bytes: Uint8Array<ArrayBuffer>; readonly name: string } | undefined
let run: Run<ColourResult> | undefined
/** Number of the latest run: messages of earlier ones are ignored. */
let turn = 0
/** The same for pictures. */
let opening = 0
let timer: ReturnType<typeof setTimeout> | undefined

readControls()
const page = await openPage({
  onDevice: (device, page) => {
    // A run that lost its device begins again by itself.
    if (opened && !device.replacesLost) start(page)
    else if (!opened) void open(page, undefined)
  },
})

controls.addEventListener('submit', (event) => {
  event.preventDefault()
  page.warn('')
  start(page)
})
stopButton.addEventListener('click', () => run?.stop())
save.addEventListener('click', () => {
  if (file) download(file.bytes, file.name, 'image/png')
})
element('pick').addEventListener('click', () => element('file', HTMLInputElement).click())
element('sample').addEventListener('click', () => take(undefined))
takeFiles(element('file', HTMLInputElement), element('stage'), ([file]) => take(file))
kRange.addEventListener('input', () => {
  k.value = String(Math.round(2 ** kRange.valueAsNumber))
})
k.addEventListener('input', () => {
  kRange.value = String(Math.log2(k.valueAsNumber || DEFAULTS.k))
})
for (const control of [k, kRange, method, seed, oklab]) {
  control.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      page.warn('')
      start(page)
    }, PAUSE)
  })
}
for (const button of copyButtons) {
  button.addEventListener('click', () => {
    if (colours)
      void copy(
        paletteText(colours, button.dataset.copy as PaletteFormat),
        `the palette (${button.textContent?.slice(5)})`,
      )
  })
}

/** The vectors that are clustered. */
function pixelsShown(): Matrix | undefined {
  if (!opened) return undefined
  const { vectors } = opaquePixels(opened.picture)
  return oklab.checked ? toOklab(vectors) : vectors
}

function take(file: File | undefined): void {
  page.warn('')
  void open(page, file)
}

function readControls(): void {
  const query = readQuery(DEFAULTS)
  fillMethods(method, query.method)
  k.value = String(Math.min(256, Math.max(2, Math.round(query.k))))
  kRange.value = String(Math.log2(k.valueAsNumber))
  seed.value = String(Math.max(0, Math.round(query.seed)))
  oklab.checked = query.oklab
}

async function open(page: Page, file: File | undefined): Promise<void> {
  const mine = ++opening
  page.status(`Opening ${file?.name ?? 'the sample'}…`)
  try {
    const found = await page.engine.start('open-picture', { file }).result
    if (mine !== opening) return
    turn++
    run?.stop()
    busy(false)
    opened = found
    stage.before(found.picture, found.name)
    put('about', aboutPicture(found))
    put('file-size', sizeBefore(found))
    start(page)
  } catch (error) {
    if (mine !== opening) return
    page.fail(error)
    // A run under way goes on, and says how far it is.
    if (stopButton.disabled) page.status(opened ? `Kept: ${opened.name}.` : '')
  }
}

function aboutPicture({ name, picture, original, distinct, transparent }: OpenedPicture): string {
  const scaled = picture.width !== original.width || picture.height !== original.height
  const size = `${picture.width} × ${picture.height} pixels`
  return [
    `${name}: ${size}${scaled ? `, scaled down from ${original.width} × ${original.height}` : ''},`,
    `${plural(distinct, 'different colour')}.`,
    transparent > 0 ? `${plural(transparent, 'transparent pixel')} ${transparent === 1 ? 'is' : 'are'} left out.` : '',
  ].join(' ')
}

function sizeBefore({ picture, original }: OpenedPicture): string {
  return original.bytes === undefined
    ? `${showBytes(3 * picture.width * picture.height)} raw`
    : showBytes(original.bytes)
}

function start(page: Page): void {
  clearTimeout(timer)
  if (!opened || !controls.reportValidity()) return
  const chosen: MethodChoice = isMethodChoice(method.value) ? method.value : 'auto'
  const request = { k: k.valueAsNumber, method: chosen, seed: seed.valueAsNumber, perceptual: oklab.checked }
  writeQuery({ k: request.k, method: chosen, seed: request.seed, oklab: oklab.checked }, DEFAULTS)
  const places = opened.transparent > 0 ? new Uint32Array(0) : undefined
  const most = mostColours({ places, distinct: opened.distinct })
  code.show(clusteringCode([colourOptions({ ...request, k: Math.min(request.k, most) })]))
  run?.stop()
  page.status('Choosing the first colours…')
  void follow(page, ++turn, request)
}

async function follow(
  page: Page,
  mine: number,
  request: { k: number; method: MethodChoice; seed: number; perceptual: boolean },
) {
  const { picture } = opened as OpenedPicture
  busy(true)
  run = pacedRun(
    page,
    'colours',
    { ...request, picture },
    {
      heard: () => mine === turn,
      onRound: (round, milliseconds) => showRound(page, round, milliseconds),
    },
  )
  try {
    const result = await run.result
    if (mine === turn) showResult(page, result, request.k)
  } catch (error) {
    if (mine !== turn) return
    page.fail(error)
    page.status(
      error instanceof RunFailure && error.code === 'stopped' ? 'Stopped before the first round was done.' : '',
    )
  } finally {
    if (mine === turn) busy(false)
  }
}

function busy(on: boolean): void {
  const [useful, useless] = on ? [stopButton, runButton] : [runButton, stopButton]
  useful.disabled = false
  retire(useless, useful)
  if (!on) return
  save.disabled = true
  file = undefined
  for (const id of ['png-size', 'mse', 'psnr', 'rounds', 'round-time']) put(id, '–')
}

function showLook({ mse, palette: entries, counts, indices }: ColourLook): void {
  colours = entries
  stage.after(indices, entries)
  palette.show(entries, counts)
  for (const button of copyButtons) button.disabled = false
  put('mse', showNumber(mse))
  put('psnr', mse === 0 ? 'nothing lost' : `${psnr(mse).toFixed(2)} dB`)
}

function showRound(page: Page, round: ColourRound, milliseconds: number): void {
  showLook(round)
  put('rounds', String(round.iteration))
  put('round-time', `${showNumber(milliseconds)} ms`)
  page.status(`Round ${round.iteration}: ${showNumber(round.moved)} pixels changed their colour.`)
}

function showResult(page: Page, result: ColourResult, asked: number): void {
  showLook(result)
  put('rounds', String(result.rounds))
  put('png-size', showBytes(result.png.length))
  file = {
    bytes: result.png,
    name: `${(opened?.name ?? 'picture').replace(/\.[^.]*$/, '')}-${result.palette.length / 3}.png`,
  }
  save.disabled = false
  const found = result.palette.length / 3
  const why =
    opened && found < opened.distinct ? 'one of 256 is kept for transparent pixels' : 'the picture has no more'
  const fewer = found < asked && !isFinder(result.method) ? ` (${why})` : ''
  const text = `Done: ${plural(found, 'colour')}${fewer} by ${result.method} after ${plural(result.rounds, 'round')}, as ${stopReason(result.stopped)}.`
  page.status(text)
  page.announce(text)
}

function isFinder(name: string): boolean {
  return isMethodChoice(name) && findsCount(name)
}

async function copy(text: string, name: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    put('copied', `Copied ${name}.`)
    page.announce(`Copied ${name}.`)
  } catch {
    put('copied', `The browser does not let this page copy; here it is: ${text.slice(0, 80)}`)
  }
}
