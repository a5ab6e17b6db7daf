/** The explanations: steps with addresses of their own over scenes that the worker computed. */
import { onThemeChange, prefersDark } from '../shell/cluster-colours.ts'
import { element, put } from '../shell/dom.ts'
import { openPage } from '../shell/page.ts'
import { closuresScene } from './closures-scene.ts'
import { CODE } from './code.ts'
import { type GridScene, gridScene } from './grid-scene.ts'
import { type MovesScene, movesScene } from './moves-scene.ts'
import { type Pen, Plane } from './plane.ts'
import type { Scene, Theme } from './scene.ts'
import { STEPS, type Step, stepOf } from './steps.ts'

const MOVE_MILLISECONDS = 260

const stage = element('stage', HTMLCanvasElement)
const round = element('round', HTMLInputElement)
const scenes = new Map<Step['topic'], Promise<Scene>>()
let step = STEPS[stepOf(location.hash)]
let scene: Scene | undefined
let moving = false

// Arrow keys are for the points, not for scrolling.
stage.setAttribute('role', 'application')
stage.setAttribute('aria-roledescription', 'plane of points: arrow keys choose a point')
const plane = new Plane(stage, draw, () => show())
fillTopics()
addEventListener('hashchange', () => void open())
onThemeChange(() => plane.redraw())
round.addEventListener('input', () => {
  if (scene) (scene as GridScene).round = round.valueAsNumber
  show()
})
element('move-one').addEventListener('click', () => moveBest())
element('move-all').addEventListener('click', () => void moveAll())
element('move-back').addEventListener('click', () => {
  moving = false
  ;(scene as MovesScene).back()
  show()
})
let first = true
const page = await openPage({
  onDevice() {
    // The facts are those of the device they were computed on.
    scenes.clear()
    if (!first) void open()
    first = false
  },
})
await open()

function sceneOf(topic: Step['topic']): Promise<Scene> {
  const { engine } = page
  const known = scenes.get(topic)
  if (known) return known
  const made =
    topic === 'Cluster closures'
      ? engine.start('explain-closures', undefined).result.then(closuresScene)
      : topic === 'k-means#'
        ? engine.start('explain-moves', undefined).result.then(movesScene)
        : engine.start('explain-grid', undefined).result.then(gridScene)
  scenes.set(topic, made)
  return made
}

async function open(): Promise<void> {
  step = STEPS[stepOf(location.hash)]
  moving = false
  const opened = step
  showStep()
  try {
    const found = await sceneOf(opened.topic)
    if (opened !== step) return
    if (found !== scene) {
      scene = found
      plane.points = found.points
      plane.selected = found.first
    }
    if (step.id === 'rotation') {
      round.max = String((found as GridScene).rounds)
      if (round.valueAsNumber === 0) round.value = round.max
      ;(found as GridScene).round = round.valueAsNumber
    }
    show()
  } catch (error) {
    page.fail(error)
  }
}

function showStep(): void {
  const at = STEPS.indexOf(step)
  put('step-place', `${step.topic}, step ${at + 1} of ${STEPS.length}`)
  put('step-title', step.title)
  put('step-text', step.text)
  put('code', CODE[step.topic])
  put('readout', 'Loading…')
  delete stage.dataset.step
  element('move-buttons').hidden = step.id !== 'moves'
  element('round-field').hidden = step.id !== 'rotation'
  turn('previous', STEPS[at - 1])
  turn('next', STEPS[at + 1])
  for (const link of document.querySelectorAll<HTMLAnchorElement>('#topics a')) {
    if (link.hash === `#${step.id}`) link.setAttribute('aria-current', 'step')
    else link.removeAttribute('aria-current')
  }
}

function turn(id: string, to: Step | undefined): void {
  const link = element(id, HTMLAnchorElement)
  link.hidden = to === undefined
  if (to) link.href = `#${to.id}`
}

function show(): void {
  if (!scene) return
  put('readout', scene.readout(step.id, plane.selected))
  Object.assign(stage.dataset, scene.facts(plane.selected), { step: step.id, selected: String(plane.selected) })
  plane.redraw()
}

function draw(pen: Pen): void {
  scene?.draw(pen, step.id, plane.selected, theme())
}

function theme(): Theme {
  const style = getComputedStyle(document.documentElement)
  const dark = prefersDark()
  return {
    dark,
    ink: style.color,
    soft: dark ? '#7d828c' : '#8b8f97',
    accent: dark ? '#7fb0ff' : '#1f5fc4',
  }
}

function moveBest(): boolean {
  const moved = (scene as MovesScene).moveBest()
  if (moved === undefined) return false
  plane.selected = moved
  show()
  return true
}

async function moveAll(): Promise<void> {
  moving = true
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  while (moving && moveBest()) {
    if (!still) await new Promise((resolve) => setTimeout(resolve, MOVE_MILLISECONDS))
  }
  moving = false
}

function fillTopics(): void {
  for (const topic of new Set(STEPS.map((one) => one.topic))) {
    const group = document.createElement('div')
    const name = document.createElement('strong')
    name.textContent = topic
    group.append(name)
    for (const { id, name: words } of STEPS.filter((one) => one.topic === topic)) {
      const link = document.createElement('a')
      link.href = `#${id}`
      link.textContent = words
      group.append(link)
    }
    element('topics').append(group)
  }
}
