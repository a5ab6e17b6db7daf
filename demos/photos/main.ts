/** Photo search: pick a view or a part of it; its visual words find the views that share them. */
import { clusterColours, cssColour, prefersDark } from '../shell/cluster-colours.ts'
import { element, put, showNumber } from '../shell/dom.ts'
import { fitField, readField } from '../shell/number-field.ts'
import { openPage, type Page } from '../shell/page.ts'
import { plural } from '../shell/phrases.ts'
import { readQuery, writeQuery } from '../shell/query.ts'
import { rowButtons } from '../words/row-buttons.ts'
import { photoCode } from './code.ts'
import { listenForRegion, REGIONS, type Region, rowsIn } from './region.ts'
import { drawView, loadSheet, sceneOf, VIEW_SIDE, VIEWS_EACH, viewCanvas } from './sheet.ts'
import type { Photos, Ranked } from './tasks.ts'

const DEFAULTS = { k: 1000, seed: 1, view: 0 }
const WHOLE = REGIONS['the whole picture']
const WORDS_SHOWN = 12
const PATCHES = 3
/** A patch reaches so many widths of the Gaussian to each side. */
const PATCH_WIDTHS = 6

const stage = element('stage', HTMLCanvasElement)
const regionChoice = element('region', HTMLSelectElement)
const root = new URL('../', location.href).href
const gallery = rowButtons(element('gallery'), (view) => choose(view))
const ranking = rowButtons(element('ranking'), (view) => choose(view))
const words = rowButtons(element('words'), (word) => {
  lit = lit === word ? undefined : word
  words.press(lit)
  drawStage()
})
let photos: Photos | undefined
let sheet: HTMLImageElement | undefined
let view = 0
let region: Region = WHOLE
let rows: Uint32Array = new Uint32Array(0)
/** A word that stands out. */
let lit: number | undefined
/** Number of the latest load or search: messages of earlier ones are ignored. */
let turn = 0

const asked = readQuery(DEFAULTS)
element('k', HTMLInputElement).value = String(fitField('k', asked.k))
element('seed', HTMLInputElement).value = String(fitField('seed', asked.seed))
regionChoice.append(...Object.keys(REGIONS).map((name) => new Option(name, name)), new Option('as dragged', 'dragged'))
const page = await openPage({ onDevice: (device, page) => void (device.replacesLost || open(page)) })

element('controls').addEventListener('submit', (event) => {
  event.preventDefault()
  page.warn('')
  void open(page)
})
regionChoice.addEventListener('change', () => {
  select(REGIONS[regionChoice.value] ?? region)
})
listenForRegion(stage, (next, done) => {
  regionChoice.value = next === WHOLE ? 'the whole picture' : 'dragged'
  region = next
  if (done) select(next)
  else drawStage()
})

async function open(page: Page): Promise<void> {
  const mine = ++turn
  const k = readField('k', page.warn)
  const seed = readField('seed', page.warn)
  writeQuery({ k, seed, view }, DEFAULTS)
  put('code', photoCode(k, seed))
  page.status('Loading the views…')
  try {
    const watcher = {
      onProgress: (phase: string, share: number) =>
        mine === turn && page.status(`${phase}: ${Math.round(100 * share)} %`),
    }
    const [found, picture] = await Promise.all([
      page.engine.start('photos', { root, k, seed }, watcher).result,
      sheet ?? loadSheet(root),
    ])
    if (mine !== turn) return
    photos = found
    sheet = picture
    const held = picture
    gallery.show(
      Array.from({ length: found.count / VIEWS_EACH }, (_, scene) => ({
        value: VIEWS_EACH * scene,
        about: `Scene ${scene + 1}`,
        picture: viewCanvas(held, VIEWS_EACH * scene, 64),
      })),
    )
    const text = `${plural(found.views.length, 'descriptor')} of ${found.count} views in ${showNumber(k)} visual words, after ${plural(found.rounds, 'round')}.`
    put('about', text)
    choose(Math.min(found.count - 1, Math.max(0, Math.round(asked.view))))
  } catch (error) {
    if (mine !== turn) return
    page.fail(error)
    page.status('')
  }
}

function choose(next: number): void {
  view = next
  asked.view = next
  writeQuery({ ...readQuery(DEFAULTS), view }, DEFAULTS)
  regionChoice.value = 'the whole picture'
  gallery.press(VIEWS_EACH * sceneOf(view))
  select(WHOLE)
}

function select(next: Region): void {
  if (!photos) return
  region = next
  lit = undefined
  rows = rowsIn(photos.views, photos.places, view, region)
  drawStage()
  showWords(photos)
  void rank(++turn)
}

async function rank(mine: number): Promise<void> {
  try {
    const began = performance.now()
    const found = await page.engine.start('rank-photos', rows).result
    if (mine === turn) showRanking(found, performance.now() - began)
  } catch (error) {
    if (mine === turn) page.fail(error)
  }
}

/** The view with its keypoints, each in the colour of its word. */
function drawStage(): void {
  if (!sheet || !photos) return
  const context = drawView(stage, sheet, view)
  const scale = stage.width / VIEW_SIDE
  const colours = clusterColours(readQuery(DEFAULTS).k, prefersDark())
  const { left, top, right, bottom } = region
  if (region !== WHOLE) {
    context.fillStyle = 'rgb(0 0 0 / 0.45)'
    context.beginPath()
    context.rect(0, 0, stage.width, stage.height)
    context.rect(left * scale, top * scale, (right - left) * scale, (bottom - top) * scale)
    context.fill('evenodd')
  }
  for (const row of rowsIn(photos.views, photos.places, view, region)) {
    const [x, y, width] = photos.places.subarray(3 * row, 3 * row + 3)
    context.beginPath()
    context.arc(x * scale, y * scale, 3 * width * scale, 0, 2 * Math.PI)
    context.lineWidth = photos.words[row] === lit ? 6 : 2.5
    context.strokeStyle = photos.words[row] === lit ? '#fff' : cssColour(colours, photos.words[row])
    context.stroke()
  }
  stage.setAttribute('aria-label', `View ${view + 1} with ${rows.length} keypoints in the chosen part`)
}

/** The rarest words of the query weigh most: each with patches of other views that have it. */
function showWords({ views, words: wordOf, places, count }: Photos): void {
  const having = new Map<number, Set<number>>()
  wordOf.forEach((word, row) => {
    const known = having.get(word) ?? new Set<number>()
    having.set(word, known.add(views[row]))
  })
  const weights = new Map<number, number>()
  for (const row of rows) {
    const word = wordOf[row]
    weights.set(word, (weights.get(word) ?? 0) + Math.log(count / (having.get(word)?.size ?? 1)))
  }
  const shared = [...weights].filter(([word]) => (having.get(word)?.size ?? 0) > 1).sort(([, a], [, b]) => b - a)
  put('words-about', `${plural(weights.size, 'visual word')}; those that weigh most of what other views have, too:`)
  words.show(
    shared.slice(0, WORDS_SHOWN).map(([word, weight]) => ({
      value: word,
      about: `Word ${word}, in ${having.get(word)?.size} views, weight ${showNumber(weight)}`,
      picture: patchesOf(word, wordOf, views, places),
    })),
  )
}

/** Patches of a word side by side. */
function patchesOf(word: number, wordOf: Uint32Array, views: Uint32Array, places: Float32Array): HTMLCanvasElement {
  const side = 40
  const strip = document.createElement('canvas')
  strip.width = PATCHES * side
  strip.height = side
  strip.ariaHidden = 'true'
  const context = strip.getContext('2d')
  let shown = 0
  for (let row = 0; row < wordOf.length && shown < PATCHES; row++) {
    if (wordOf[row] !== word || !sheet) continue
    const [x, y, width] = places.subarray(3 * row, 3 * row + 3)
    const reach = PATCH_WIDTHS * width
    const inside = (value: number): number => Math.min(VIEW_SIDE - 2 * reach, Math.max(0, value - reach))
    const patch = viewCanvas(sheet, views[row], side, [inside(x), inside(y), Math.min(VIEW_SIDE, 2 * reach)])
    context?.drawImage(patch, shown++ * side, 0)
  }
  return strip
}

function showRanking({ views, scores }: Ranked, milliseconds: number): void {
  if (!sheet) return
  const held = sheet
  const same = (other: number): boolean => sceneOf(other) === sceneOf(view)
  ranking.show(
    Array.from(views, (other, i) => ({
      value: other,
      about: `View ${other + 1}, score ${scores[i].toFixed(3)}${same(other) ? ', the same scene' : ''}`,
      picture: viewCanvas(held, other, 112),
      text: scores[i].toFixed(3),
      mark: same(other) ? 'same' : '',
    })),
  )
  const right = Array.from(views.subarray(0, VIEWS_EACH)).filter(same).length
  const text =
    views.length === 0
      ? 'No keypoints in this part: choose a larger one.'
      : `${right} of the first ${VIEWS_EACH} show the same scene. Found in ${milliseconds.toFixed(0)} ms by ${plural(rows.length, 'descriptor')}.`
  page.status(text)
  page.announce(text)
}
