/** The playground: points, one or two methods, and buttons that make them go. */
import type { ClusterOptions, Matrix, MethodName } from '../../src/index.ts'
import type { DeviceReport } from '../engine/protocol.ts'
import { onThemeChange } from '../shell/cluster-colours.ts'
import { clusteringCode, codePanel } from '../shell/code-panel.ts'
import { element, retire } from '../shell/dom.ts'
import { lineChart } from '../shell/line-chart.ts'
import { openPage, type Page } from '../shell/page.ts'
import { tooManyClusters } from '../shell/phrases.ts'
import { readQuery } from '../shell/query.ts'
import { Drawing, listenForDrawing } from './drawing.ts'
import { Lane } from './lane.ts'
import { leafHulls } from './leaf-hulls.ts'
import { makePoints } from './points.ts'
import * as controls from './settings.ts'

const LEAST_LEAF = 10
/** More outlines than this are a grey surface. */
const MOST_LEAVES = 400
const CURVE_COLOURS = ['var(--accent)', 'var(--second)']

class Playground {
  readonly #page: Page
  readonly #lanes: Lane[] = []
  readonly #drawing = new Drawing()
  readonly #charts = {
    distortion: lineChart(element('chart'), { xLabel: 'round', yLabel: 'distortion', title: 'Distortion by round' }),
    likelihood: lineChart(element('likelihood-chart'), {
      xLabel: 'round',
      yLabel: 'log-likelihood',
      title: 'Log-likelihood by round',
    }),
  }
  readonly #code = codePanel(
    () => this.#page,
    () => (this.#points.rows > 0 ? this.#points : undefined),
  )
  #settings: controls.Settings
  #points: Matrix = { data: new Float32Array(0), rows: 0, cols: 2 }
  #ends: string[] = []
  #redrawing = false

  constructor(page: Page, settings: controls.Settings) {
    this.#page = page
    this.#settings = settings
    controls.showSettings(settings)
    const events = {
      onChange: () => this.#showState(),
      onEnd: (sentence: string) => {
        this.#ends.push(sentence)
        page.announce(this.#ends.join(' '))
        this.#showState()
      },
    }
    for (const id of ['stage-a', 'stage-b']) {
      const lane = new Lane(page, element(id), events)
      listenForDrawing(
        lane.room,
        () => this.#settings.shape === 'draw',
        (x, y) => this.#spray(x, y),
      )
      this.#lanes.push(lane)
    }
    this.#listen()
    this.#showAbout()
    this.restart()
  }

  get #shown(): Lane[] {
    return this.#settings.beside === 'none' ? this.#lanes.slice(0, 1) : this.#lanes
  }

  resize(n: number): void {
    if (n === this.#settings.n) return
    this.#settings = { ...this.#settings, n }
    controls.showSettings(this.#settings)
    this.restart()
  }

  /** Points as the settings say, and nothing run yet. */
  restart(): void {
    const { shape, n, seed, method, beside } = this.#settings
    this.#points = shape === 'draw' ? this.#drawing.points : makePoints(shape, n, seed)
    this.#lanes[1].figure.hidden = beside === 'none'
    element('bench').classList.toggle('two', beside !== 'none')
    this.#ends = []
    controls.disableIgnored(this.#settings)
    const names = [method, beside] as const
    this.#lanes.forEach((lane, i) => {
      lane.leave()
      const name = names[i]
      if (name === 'none') return
      const options = controls.clusterOptions(name, this.#settings, this.#points.rows)
      lane.pace = controls.PACES[this.#settings.pace]
      lane.reset({ points: this.#points, method: name, options })
      lane.stage.setLayers({ ...this.#settings, leaves: this.#settings.leaves && controls.usesLeaves(name) })
      setDrawable(lane.room, shape === 'draw')
      this.#showEmpty(lane)
    })
    this.#warnOfCount()
    this.#code.show(clusteringCode(this.#jobs.map(({ options }) => options)))
    void this.#growLeaves()
    this.#showState()
  }

  run(): void {
    if (this.#warnOfCount()) return
    for (const lane of this.#shown) lane.play()
    this.#page.announce(`Running ${this.#shown.map(({ method }) => method).join(' and ')}.`)
    this.#showState()
  }

  /** More clusters than points: said once, before anything runs. */
  #warnOfCount(): boolean {
    const { k } = this.#settings
    const asks = this.#shown.some(({ method }) => method && !controls.FINDS_COUNT.includes(method))
    const problem = asks && this.#points.rows > 0 ? tooManyClusters(k, this.#points.rows, 'point') : undefined
    if (problem) this.#page.warn(problem)
    return problem !== undefined
  }

  get #jobs(): { readonly options: ClusterOptions }[] {
    const { method, beside } = this.#settings
    const names = beside === 'none' ? [method] : [method, beside]
    return names.map((name) => ({ options: controls.clusterOptions(name, this.#settings, this.#points.rows) }))
  }

  #listen(): void {
    element('controls').addEventListener('submit', (event) => event.preventDefault())
    element('controls').addEventListener('change', (event) => this.#change((event.target as HTMLElement).id))
    element('run').addEventListener('click', () => {
      if (!this.#shown.some(({ busy }) => busy)) return this.run()
      for (const lane of this.#lanes) lane.pause()
      this.#showState()
    })
    element('step').addEventListener('click', () => {
      if (this.#warnOfCount()) return
      for (const lane of this.#shown) lane.step()
      this.#showState()
    })
    element('reset').addEventListener('click', () => this.restart())
    element('clear').addEventListener('click', () => {
      this.#drawing.clear()
      this.restart()
    })
    onThemeChange(() => {
      for (const { stage } of this.#lanes) stage.refresh()
    })
  }

  #change(id: string): void {
    this.#page.warn('')
    this.#settings = controls.settingsFromForm((sentence) => this.#page.warn(sentence))
    if (id === 'pace') for (const lane of this.#lanes) lane.pace = controls.PACES[this.#settings.pace]
    else if (['cells', 'lit', 'leaves', 'circles'].includes(id)) {
      for (const { stage, method } of this.#lanes) {
        stage.setLayers({
          ...this.#settings,
          leaves: this.#settings.leaves && method !== undefined && controls.usesLeaves(method),
        })
      }
      if (id === 'leaves') void this.#growLeaves()
    } else {
      if (['method', 'beside'].includes(id)) this.#showAbout()
      this.restart()
    }
  }

  #spray(x: number, y: number): void {
    if (!this.#drawing.spray(x, y)) this.#page.warn('That is as many points as this page draws: 200,000.')
    if (this.#redrawing) return
    this.#redrawing = true
    // Many strokes come between two frames.
    requestAnimationFrame(() => {
      this.#redrawing = false
      this.restart()
    })
  }

  /** One tree as the closure methods grow them, with larger leaves where there are many points. */
  async #growLeaves(): Promise<void> {
    const points = this.#points
    if (!this.#settings.leaves || points.rows < 2 || !this.#shown.some(usingLeaves)) return
    const leafSize = Math.max(LEAST_LEAF, Math.ceil(points.rows / MOST_LEAVES))
    try {
      const options = { leafSize, seed: this.#settings.seed }
      const [tree] = await this.#page.engine.start('leaves', { vectors: points, options }).result
      if (points !== this.#points) return
      const hulls = leafHulls(points.data as Float32Array, tree)
      for (const { stage } of this.#shown.filter(usingLeaves)) stage.setLeaves(hulls)
      this.#page.status(`${hulls.length} leaves of a partition tree, at most ${leafSize} points each.`)
    } catch (error) {
      this.#page.fail(error)
    }
  }

  #showEmpty(lane: Lane): void {
    lane.room.querySelector('.empty')?.remove()
    if (this.#points.rows > 0) return
    const empty = document.createElement('p')
    empty.className = 'empty'
    empty.textContent = 'Draw points here: drag, or move with the arrow keys and press space.'
    lane.room.append(empty)
  }

  #showState(): void {
    const shown = this.#shown
    const empty = this.#points.rows === 0
    const busy = shown.some((lane) => lane.busy)
    const ended = shown.every((lane) => lane.ended)
    const run = element('run', HTMLButtonElement)
    run.textContent = busy ? 'Pause' : 'Run'
    const reset = element('reset', HTMLButtonElement)
    reset.disabled = empty
    const step = element('step', HTMLButtonElement)
    run.disabled = false
    step.disabled = false
    if (empty || ended || busy) retire(step, busy ? run : reset)
    if (empty || ended) retire(run, reset)
    element('clear').hidden = this.#settings.shape !== 'draw'
    this.#page.status(this.#ends.join(' '))
    this.#drawCurves()
  }

  /** Mixtures raise the likelihood, the others lower the distortion: a chart for each that is shown. */
  #drawCurves(): void {
    const curves = this.#shown.map(({ method, curve }, i) => ({
      method,
      name: method ?? '',
      colour: CURVE_COLOURS[i],
      points: curve,
    }))
    const mixtures = curves.filter(({ method }) => method && controls.isMixture(method))
    const others = curves.filter((one) => !mixtures.includes(one))
    element('distortion-part').hidden = others.length === 0
    element('likelihood-part').hidden = mixtures.length === 0
    this.#charts.distortion.draw(others)
    this.#charts.likelihood.draw(mixtures)
  }

  /** What the chosen methods do, in their own words. */
  async #showAbout(): Promise<void> {
    const { method, beside } = this.#settings
    const methods = await this.#page.engine.start('methods', undefined).result
    const chosen = [method, beside].filter((name): name is MethodName => name !== 'none')
    const parts = chosen.flatMap((name, i) => {
      const term = document.createElement('dt')
      const mark = document.createElement('span')
      mark.className = 'swatch'
      mark.style.background = CURVE_COLOURS[i]
      term.append(mark, name)
      const words = document.createElement('dd')
      const summary = methods.find((one) => one.name === name)?.summary ?? ''
      const start = controls.FINDS_COUNT.includes(name) ? ` It begins with ${controls.FIRST_COMPONENTS} points.` : ''
      words.textContent = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${start}`
      return [term, words]
    })
    element('about').replaceChildren(...parts)
  }
}

function usingLeaves({ method }: Lane): boolean {
  return method !== undefined && controls.usesLeaves(method)
}

/** A stage is a picture, or a place to draw in that keys reach. */
function setDrawable(room: HTMLElement, drawable: boolean): void {
  room.classList.toggle('drawable', drawable)
  room.setAttribute('role', drawable ? 'application' : 'img')
  if (drawable) {
    room.tabIndex = 0
    room.setAttribute('aria-roledescription', 'drawing area: arrow keys move, space draws')
  } else {
    room.removeAttribute('tabindex')
    room.removeAttribute('aria-roledescription')
  }
}

/** Until a device is open and says how many suit it. */
const FIRST_POINTS = 5000

/** As many points as are drawn and clustered without waiting. */
function pointsFor({ kind, software }: DeviceReport): number {
  if (kind === 'webgpu') return software ? 1000 : 20_000
  return FIRST_POINTS
}

for (const id of ['method', 'beside']) {
  element(id).append(...controls.PLAYGROUND_METHODS.map((name) => new Option(name, name)))
}
const asked = controls.settingsFromAddress()
let first = true
const page = await openPage({
  onDevice(device) {
    if (first && asked.n === 0) playground.resize(pointsFor(device))
    // A run that was lost begins again by itself; after another device was picked, nothing has run yet. Who was quick
    // enough to start a run before the first device was open keeps it.
    if (!first && !device.replacesLost) playground.restart()
    // Points move as soon as the page is there; a link can ask it to wait.
    if (first && readQuery({ run: true }).run) playground.run()
    first = false
  },
})
const playground = new Playground(page, asked.n === 0 ? { ...asked, n: FIRST_POINTS } : asked)
