/** The words and digits page: vectors in, clusters and neighbours out. */
import { type Matrix, normalizedMutualInformation, purity } from '../../src/index.ts'
import type { ClusterLook, ClusterResult, ClusterRound } from '../engine/cluster-task.ts'
import { type Run, RunFailure } from '../engine/engine.ts'
import { onThemeChange } from '../shell/cluster-colours.ts'
import { clusteringCode, codePanel } from '../shell/code-panel.ts'
import { element, put, retire, showNumber } from '../shell/dom.ts'
import { download } from '../shell/download.ts'
import { takeFiles } from '../shell/files.ts'
import { lineChart } from '../shell/line-chart.ts'
import { fillMethods, findsCount, isMethodChoice, type MethodChoice, stopReason } from '../shell/method-choices.ts'
import { pacedRun } from '../shell/paced-run.ts'
import { openPage, type Page } from '../shell/page.ts'
import { plural, tooManyClusters } from '../shell/phrases.ts'
import { readQuery, writeQuery } from '../shell/query.ts'
import { type Clusters, clustersPanel } from './clusters-panel.ts'
import { codesPanel } from './codes-panel.ts'
import { type Dataset, dataset, rowName, withVectors } from './dataset.ts'
import type { VectorMap } from './map-task.ts'
import { type MapScene, MapView } from './map-view.ts'
import { sizesOf } from './members.ts'
import { parseNames } from './names.ts'
import { typicalRows } from './neighbours.ts'
import { searchPanel } from './search-panel.ts'
import { shippedDigits, shippedWords } from './shipped.ts'

/** k = 0: as many as suit the data. */
const DEFAULTS = { data: 'words', k: 0, method: 'auto', seed: 1, rounds: 50, unit: false }
/** Words that name a cluster. */
const TYPICAL = 3

const controls = element('controls', HTMLFormElement)
const k = element('k', HTMLInputElement)
const method = element('method', HTMLSelectElement)
const seed = element('seed', HTMLInputElement)
const most = element('most', HTMLInputElement)
const unit = element('unit', HTMLInputElement)
const runButton = element('run', HTMLButtonElement)
const cancel = element('cancel', HTMLButtonElement)
const progress = element('progress', HTMLProgressElement)

/** As it was loaded; `data` has rows of length one where that was asked for. */
let loaded: Dataset | undefined
let data: Dataset | undefined
let places: Float32Array | undefined
let names: readonly string[] | undefined
let askedK = 0
let focus: MapScene['focus']
let clusters: Clusters | undefined
let run: Run<ClusterResult> | undefined
/** Number of the latest data or run: messages of earlier ones are ignored. */
let turn = 0

const chart = lineChart(element('chart'), {
  title: 'Distortion round by round',
  xLabel: 'round',
  yLabel: 'distortion',
})
const view = new MapView(element('map'), {
  onCluster: (cluster) => panel.choose(cluster),
  onRow: chooseRow,
  nameOf: (row) => (data ? rowName(data, row) : ''),
})
const search = searchPanel((found) => {
  if (found && clusters) panel.choose(clusters.labels[found.row])
  drawMap()
})
const panel = clustersPanel(drawMap, chooseRow)
const codes = codesPanel(
  () => page,
  () => seed.valueAsNumber,
  () => {
    element('save-codes', HTMLButtonElement).disabled = codes?.codes === undefined
  },
)

const codeLines = codePanel(
  () => page,
  () => data?.vectors,
)

readControls()
chart.draw([])
const page = await openPage({
  onDevice: (device, page) => {
    // A run that lost its device begins again by itself.
    if (data && !device.replacesLost) void start(page)
    else if (!data) void openShipped(page, readQuery(DEFAULTS).data === 'digits' ? 'digits' : 'words')
  },
})

controls.addEventListener('submit', (event) => {
  event.preventDefault()
  page.warn('')
  void start(page)
})
unit.addEventListener('change', () => {
  const same = loaded
  page.warn('')
  if (same) void open(page, same.name, async () => same)
})
cancel.addEventListener('click', () => run?.stop())
for (const name of ['words', 'digits'] as const) {
  element(name).addEventListener('click', () => {
    page.warn('')
    void openShipped(page, name)
  })
}
element('zoom-in').addEventListener('click', () => view.zoom(1.6))
element('zoom-out').addEventListener('click', () => view.zoom(1 / 1.6))
element('zoom-all').addEventListener('click', () => view.reset())
element('pick').addEventListener('click', () => element('file', HTMLInputElement).click())
takeFiles(element('file', HTMLInputElement), element('map'), (files) => {
  page.warn('')
  void openFiles(page, files)
})
onThemeChange(() => {
  view.redraw()
  if (data && clusters) panel.show(data, clusters, names)
})
const saves: Readonly<Record<string, () => Matrix | Uint32Array | undefined>> = {
  centers: () => clusters?.centers,
  labels: () => clusters?.labels,
  codes: () => codes.codes?.codes,
}
for (const [name, content] of Object.entries(saves)) {
  element(`save-${name}`).addEventListener('click', () => void saveFile(`${name}.npy`, content()))
}

function readControls(): void {
  const query = readQuery(DEFAULTS)
  fillMethods(method, query.method)
  askedK = Math.max(0, Math.round(query.k))
  seed.value = String(Math.max(0, Math.round(query.seed)))
  most.value = String(Math.max(1, Math.round(query.rounds)))
  unit.checked = query.unit
}

/** A row of the map or of a list: named ones are searched for, and their neighbours by codes, if there are codes. */
function chooseRow(row: number): void {
  if (data?.names) search.choose(row)
  codes.ask(row)
}

async function openShipped(page: Page, name: 'words' | 'digits'): Promise<void> {
  writeQuery({ data: name }, DEFAULTS)
  await open(page, `the ${name}`, async () => {
    const { data, k: suited, note } = name === 'words' ? await shippedWords(page.engine) : await shippedDigits()
    put('codes-note', note)
    k.value = String(askedK || suited)
    return data
  })
}

async function openFiles(page: Page, files: readonly File[]): Promise<void> {
  await open(page, files[0].name, async () => {
    const { vectors, name, names } = await page.engine.start('read-vectors', { files }).result
    if (!vectors && !loaded) throw new Error('Give the vectors first, then the names of their rows.')
    const found = vectors ?? (loaded as Dataset).vectors
    put('codes-note', '')
    const rows = names && ('text' in names ? parseNames(names.text, names.file, found.rows) : names)
    return dataset(vectors ? name : (loaded as Dataset).name, found, rows ? { names: rows } : {})
  })
}

/** Loads, lays out and clusters. A file that cannot be read leaves everything as it was. */
async function open(page: Page, name: string, load: () => Promise<Dataset>): Promise<void> {
  const mine = ++turn
  run?.stop()
  // Codes that are being learned would make the file wait until they are.
  codes.stop()
  page.status(`Loading ${name}…`)
  progress.removeAttribute('value')
  try {
    const found = await load()
    if (mine !== turn) return
    page.status(`Laying out ${name}…`)
    const layout: VectorMap =
      found.places && !unit.checked
        ? { places: found.places, unit: undefined }
        : await page.engine.start('map-vectors', { vectors: found.vectors, unit: unit.checked }).result
    if (mine !== turn) return
    loaded = found
    data = layout.unit ? withVectors(found, layout.unit) : found
    focus = undefined
    places = layout.places
    clusters = undefined
    names = undefined
    search.open(data)
    panel.clear()
    codes.forget(data)
    drawMap()
    const { rows, cols } = found.vectors
    // More clusters than rows cannot be: as many as people guess when they know nothing.
    if (k.valueAsNumber > rows) k.value = String(Math.ceil(Math.sqrt(rows)))
    const axes =
      found.places && !layout.unit
        ? 'Words that are used alike lie together'
        : 'The two directions in which they differ most'
    put(
      'about',
      `${found.name}: ${showNumber(rows)} rows of ${showNumber(cols)} numbers${layout.unit ? ' at length one' : ''}. ${axes}. Drag, scroll or pinch; with keys: arrows, + and −.`,
    )
    await start(page)
  } catch (error) {
    if (mine !== turn) return
    page.fail(error)
    page.status(data ? `Kept: ${data.name}.` : '')
    progress.value = 0
    busy(false)
  }
}

async function start(page: Page): Promise<void> {
  if (!data) return
  if (!controls.reportValidity()) {
    page.status('Nothing was clustered.')
    progress.value = 0
    busy(false)
    return
  }
  const chosen: MethodChoice = isMethodChoice(method.value) ? method.value : 'auto'
  const count = k.valueAsNumber
  const rounds = most.valueAsNumber
  writeQuery({ k: count, method: chosen, seed: seed.valueAsNumber, rounds, unit: unit.checked }, DEFAULTS)
  // Methods that find the number of clusters begin with the number asked for and end with fewer.
  const size = findsCount(chosen) ? { start: count } : { k: count }
  const options = { ...size, method: chosen, seed: seed.valueAsNumber, iterations: rounds }
  codeLines.show(clusteringCode([options]))
  run?.stop()
  clearFigures()
  const problem = tooManyClusters(count, data.vectors.rows)
  if (problem) {
    page.warn(problem)
    page.status('Nothing was clustered.')
    progress.value = 0
    busy(false)
    return
  }
  page.status('Choosing the first centres…')
  progress.removeAttribute('value')
  busy(true)
  const mine = ++turn
  try {
    const result = await follow(page, mine, data, options, rounds)
    if (mine === turn) showResult(page, data, result)
  } catch (error) {
    if (mine !== turn) return
    page.fail(error)
    const stopped = error instanceof RunFailure && error.code === 'stopped'
    page.status(stopped ? 'Stopped before the first round was done.' : 'Nothing was clustered.')
    progress.value = 0
  } finally {
    if (mine === turn) busy(false)
  }
}

function follow(page: Page, mine: number, held: Dataset, options: object, rounds: number): Promise<ClusterResult> {
  let curve: [number, number][] = []
  run = pacedRun(
    page,
    'cluster',
    { vectors: held.vectors, options, look: true },
    {
      heard: () => mine === turn,
      onRound(round, milliseconds) {
        curve.push([round.stats.iteration, round.stats.distortion])
        showRound(page, round, milliseconds, curve)
        progress.value = round.stats.iteration / rounds
      },
      onRestart() {
        curve = []
      },
    },
  )
  return run.result
}

/** Figures of an earlier run do not stand beside the status of this one. */
function clearFigures(): void {
  for (const id of ['distortion', 'rounds', 'candidates', 'round-time', 'purity', 'nmi']) put(id, '–')
  chart.draw([])
}

function busy(on: boolean): void {
  const [useful, useless] = on ? [cancel, runButton] : [runButton, cancel]
  useful.disabled = false
  retire(useless, useful)
  for (const name of ['centers', 'labels']) element(`save-${name}`, HTMLButtonElement).disabled = on || !clusters
}

function showRound(page: Page, { stats, look }: ClusterRound, milliseconds: number, curve: [number, number][]): void {
  put('distortion', showNumber(stats.distortion))
  put('rounds', String(stats.iteration))
  put('candidates', showNumber(stats.candidates))
  put('round-time', `${showNumber(milliseconds)} ms`)
  chart.draw([{ name: 'distortion', colour: 'var(--accent)', points: curve, strong: true }])
  page.status(`Round ${stats.iteration}: ${showNumber(stats.moved)} rows changed their cluster.`)
  if (look && data) {
    clusters = clustersOf(look, data.vectors.cols)
    drawMap()
  }
}

function clustersOf({ centers, labels }: ClusterLook, cols: number): Clusters {
  const rows = centers.length / cols
  return { centers: { data: centers, rows, cols }, labels, sizes: sizesOf(labels, rows) }
}

function drawMap(): void {
  if (!data || !places) return
  const held = data
  const found = search.found && { ...search.found, name: (row: number) => rowName(held, row) }
  focus = found?.row === focus?.row ? focus : found
  view.show({ places, clusters, names, ink: data.ink, selected: panel.chosen, focus })
}

function showResult(page: Page, held: Dataset, { centers, labels, facts, distortion }: ClusterResult): void {
  clusters = { centers, labels, sizes: sizesOf(labels, centers.rows) }
  put('distortion', showNumber(distortion))
  put('rounds', String(facts.iterations.length))
  const { classes } = held
  put('purity', classes ? purity(labels, classes).toFixed(3) : '–')
  put('nmi', classes ? normalizedMutualInformation(labels, classes).toFixed(3) : '–')
  names =
    held.names &&
    typicalRows(held.vectors, centers, labels, TYPICAL).map((rows) => rows.map((row) => rowName(held, row)).join(', '))
  panel.show(held, clusters, names)
  element('map').setAttribute(
    'aria-label',
    `Map of ${held.vectors.rows} rows in ${centers.rows} clusters; the list below has the same.`,
  )
  progress.value = 1
  const text = `Done: ${plural(centers.rows, 'cluster')} by ${facts.method} after ${plural(facts.iterations.length, 'round')}, as ${stopReason(facts.stopped)}.`
  page.status(text)
  page.announce(text)
}

async function saveFile(name: string, content: Matrix | Uint32Array | undefined): Promise<void> {
  if (!content) return
  try {
    download(await page.engine.start('file-bytes', { name, content }).result, name)
  } catch (error) {
    page.fail(error)
  }
}
