/** The race: one method after another, each curve growing as its rounds arrive. */
import type { Matrix } from '../../src/index.ts'
import type { ClusterInput } from '../engine/cluster-task.ts'
import { type Run, RunFailure } from '../engine/engine.ts'
import type { DeviceReport } from '../engine/protocol.ts'
import { clusterColours, cssColour } from '../shell/cluster-colours.ts'
import { clusteringCode, codePanel } from '../shell/code-panel.ts'
import { element, retire, showNumber } from '../shell/dom.ts'
import { type LineChart, lineChart } from '../shell/line-chart.ts'
import { fitField } from '../shell/number-field.ts'
import { openPage, type Page } from '../shell/page.ts'
import { tooManyClusters } from '../shell/phrases.ts'
import { Racer } from './racer.ts'
import { raceOptions, type Settings, settingsFromAddress, settingsFromForm, showSettings } from './settings.ts'
import { verdict } from './verdict.ts'

const WARM_UP = { rows: 200, k: 8 }

class Race {
  readonly #page: Page
  #racers: Racer[] = []
  #settings: Settings
  readonly #chart: LineChart
  #run: Run<unknown> | undefined
  /** Counts races, so that one that was left knows. */
  #race = 0
  #going = false
  /** Methods are known, and a device is open. */
  readonly #ready: Promise<void>
  #drawn = false
  /** What went wrong in this race; the same sentence stands once for all methods. */
  readonly #failures = new Set<string>()
  readonly #code = codePanel(
    () => this.#page,
    () => this.#makeVectors().result,
  )

  constructor(page: Page, settings: Settings) {
    this.#page = page
    this.#settings = settings
    this.#chart = this.#makeChart()
    this.#listen()
    this.#ready = this.#fill()
  }

  /** The methods come from the library: what is new there races too. */
  async #fill(): Promise<void> {
    const methods = await this.#page.engine.start('methods', undefined).result
    const wanted = this.#settings.methods.split(',')
    const [light, dark] = [false, true].map((theme) => clusterColours(methods.length, theme))
    this.#racers = methods.map((facts, i) => {
      const colour = `light-dark(${cssColour(light, i)}, ${cssColour(dark, i)})`
      return new Racer(facts, colour, wanted.includes('all') || wanted.includes(facts.name))
    })
    element('rows').replaceChildren(...this.#racers.map(({ row }) => row))
    this.#draw()
    this.#showCode()
  }

  /** Sizes that nobody asked for are those that suit the device. */
  suit(suitedN: number, suitedK: number): void {
    const n = this.#settings.n || fitField('n', suitedN)
    this.#settings = { ...this.#settings, n, k: this.#settings.k || Math.max(1, Math.min(suitedK, Math.floor(n / 10))) }
    showSettings(this.#settings)
    this.#showCode()
  }

  async start(): Promise<void> {
    this.leave()
    const race = ++this.#race
    this.#setGoing(true)
    this.#page.warn('')
    this.#failures.clear()
    try {
      await this.#ready
      for (const racer of this.#racers) racer.reset()
      this.#judge()
      this.#draw()
      const problem = this.#problem()
      if (problem) {
        this.#page.status('')
        this.#page.warn(problem)
        return
      }
      this.#page.status('Making the vectors…')
      const vectors = await this.#vectors()
      for (const racer of this.#racers.filter(({ takesPart }) => takesPart)) {
        if (race === this.#race && this.#going) await this.#runOne(racer, vectors, race)
      }
      if (race === this.#race) this.#finish()
    } catch (error) {
      if (race !== this.#race) return
      this.#page.fail(error)
      this.#page.status(error instanceof RunFailure && error.code === 'stopped' ? 'The race was stopped.' : '')
    } finally {
      if (race === this.#race) this.#setGoing(false)
    }
  }

  /** What was reached stays. */
  stop(): void {
    this.#run?.stop()
    this.#setGoing(false)
  }

  /** Nothing of the race under way counts any more. */
  leave(): void {
    this.#race++
    this.stop()
  }

  /** Why the race cannot start, in a sentence. */
  #problem(): string | undefined {
    if (!this.#racers.some(({ takesPart }) => takesPart)) return 'No method takes part: tick one or more in the table.'
    return tooManyClusters(this.#settings.k, this.#settings.n)
  }

  async #vectors(): Promise<Matrix> {
    const run = this.#makeVectors()
    this.#run = run
    return run.result
  }

  #makeVectors(): Run<Matrix> {
    const { data, n, seed } = this.#settings
    const root = new URL('../', location.href).href
    return this.#page.engine.start('race-vectors', { data, n, seed, root })
  }

  #showCode(): void {
    const taking = this.#racers.filter(({ takesPart }) => takesPart)
    this.#code.show(clusteringCode(taking.map(({ facts }) => raceOptions(facts, this.#settings))))
  }

  async #runOne(racer: Racer, vectors: Matrix, race: number): Promise<void> {
    const { name } = racer.facts
    racer.say('running', 'warming up')
    this.#page.status(`${name} is running.`)
    const options = raceOptions(racer.facts, this.#settings)
    const watcher = {
      onRound: ({ stats }: { stats: { iteration: number; distortion: number; seconds: number } }) => {
        if (race !== this.#race) return
        racer.round(stats.iteration, stats.distortion, stats.seconds)
        this.#drawSoon()
      },
      // Curves of two devices say nothing about methods: all begin again.
      onRestart: () => race === this.#race && void this.start(),
    }
    try {
      await this.#warmUp(racer, vectors, watcher.onRestart)
      if (race !== this.#race || !this.#going) return racer.say('waiting', 'stopped')
      racer.say('running', 'running')
      const run = this.#page.engine.start('cluster', { vectors, options, look: false }, watcher)
      this.#run = run
      const result = await run.result
      if (race !== this.#race) return
      racer.end(result)
      this.#compare()
      this.#judge()
      this.#draw()
      this.#page.announce(`${name}: distortion ${showNumber(result.distortion)}.`)
    } catch (error) {
      if (race !== this.#race) return
      if (error instanceof RunFailure && error.code === 'stopped') racer.say('waiting', 'stopped')
      else {
        racer.say('waiting', 'not possible')
        this.#failures.add(error instanceof Error ? error.message : String(error))
        this.#page.warn([...this.#failures].join(' '))
      }
    }
  }

  /** Shaders are compiled and code is made fast on a few vectors, so that the first method pays no more than others. */
  async #warmUp(racer: Racer, { data, cols, rows }: Matrix, onRestart: () => void): Promise<void> {
    const few = Math.min(rows, WARM_UP.rows)
    const settings = { ...this.#settings, k: Math.min(few, WARM_UP.k), rounds: 2 }
    const input: ClusterInput = {
      vectors: { data: data.slice(0, few * cols), rows: few, cols },
      options: raceOptions(racer.facts, settings),
      look: false,
    }
    const run = this.#page.engine.start('cluster', input, { onRestart })
    this.#run = run
    await run.result
  }

  #finish(): void {
    const ended = this.#racers.filter(({ final }) => final !== undefined)
    const best = ended.reduce<Racer | undefined>(
      (least, next) => ((next.final ?? 0) < (least?.final ?? Number.POSITIVE_INFINITY) ? next : least),
      undefined,
    )
    const words = best ? `Lowest distortion: ${best.facts.name}, ${showNumber(best.final ?? 0)}.` : 'No method ended.'
    const all = this.#going ? 'The race is over.' : 'The race was stopped.'
    this.#page.status(`${all} ${words}`)
    this.#page.announce(`${element('verdict').textContent} ${all} ${words}`.trim())
  }

  /** The sentence that sums up what has ended so far. */
  #judge(): void {
    const ended = this.#racers.filter(({ final }) => final !== undefined)
    const found = verdict(ended.map(({ facts, curve }) => ({ name: facts.name, points: curve })))
    const place = element('verdict')
    place.textContent = found?.sentence ?? ''
    if (found?.times === undefined) delete place.dataset.times
    else place.dataset.times = String(found.times)
  }

  #compare(): void {
    const best = Math.min(...this.#racers.map(({ final }) => final ?? Number.POSITIVE_INFINITY))
    for (const racer of this.#racers) racer.compare(best)
  }

  #setGoing(going: boolean): void {
    this.#going = going
    const start = element('start', HTMLButtonElement)
    start.textContent = going ? 'Start again' : 'Start the race'
    const stop = element('stop', HTMLButtonElement)
    if (going) stop.disabled = false
    else retire(stop, start)
    for (const racer of this.#racers) racer.lock(going)
  }

  #listen(): void {
    element('controls').addEventListener('submit', (event) => event.preventDefault())
    element('start').addEventListener('click', () => void this.start())
    element('stop').addEventListener('click', () => this.stop())
    element('controls').addEventListener('change', (event) => this.#change((event.target as HTMLElement).id))
    element('rows').addEventListener('change', () => this.#change('methods'))
  }

  #change(id: string): void {
    this.#page.warn('')
    const taking = this.#racers.filter(({ takesPart }) => takesPart)
    const every = taking.length === this.#racers.length
    const methods = every ? 'all' : taking.map(({ facts }) => facts.name).join(',')
    this.#settings = settingsFromForm(methods, (sentence) => this.#page.warn(sentence))
    if (id === 'axis') this.#chart.rescale(this.#settings.axis)
    else {
      this.leave()
      for (const racer of this.#racers) racer.reset()
      this.#judge()
      this.#page.status('')
    }
    this.#showCode()
    this.#draw()
  }

  #makeChart(): LineChart {
    return lineChart(element('chart'), {
      xLabel: 'seconds',
      yLabel: 'distortion',
      xScale: this.#settings.axis,
      yScale: 'log',
      title: 'Distortion against seconds',
      height: 380,
      labels: true,
    })
  }

  #drawSoon(): void {
    if (this.#drawn) return
    this.#drawn = true
    requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    this.#drawn = false
    this.#chart.draw(
      this.#racers.map(({ facts, colour, curve, row }) => ({
        name: facts.name,
        colour,
        points: curve,
        strong: row.dataset.state === 'running',
      })),
    )
  }
}

/** Large enough that the choice of a method matters; a software adapter would take minutes for it. */
function sizesFor({ kind, software }: DeviceReport): [n: number, k: number] {
  return kind === 'webgpu' && software ? [600, 10] : [50_000, 3000]
}

let first = true
const page = await openPage({
  onDevice(device) {
    race.suit(...sizesFor(device))
    // Who was quick enough to start before the first device was open keeps the race.
    if (!first && !device.replacesLost) race.stop()
    first = false
  },
})
const race = new Race(page, settingsFromAddress())
