/** One disturbed save, and what must hold afterwards. */
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../area.ts'
import { type Ended, runCli } from '../cli.ts'
import type { Draw } from '../draw.ts'
import { filesIn, type Known, PRELOAD } from './known.ts'
import type { Scenario } from './scenarios.ts'

/** What is tried: the rows of the table. */
export type Disturbance = 'kill at a random moment' | 'kill at a file operation' | 'full disk' | 'two writers'

export interface Trial {
  readonly disturbance: Disturbance
  readonly text: string
  /** Whether the save was cut short. It may have ended before the moment came. */
  readonly hit: boolean
  /** Whether the run was resumed afterwards. */
  readonly resumed: boolean
}

export async function disturb(
  draw: Draw,
  disturbance: Disturbance,
  scenario: Scenario,
  known: Known,
  work: string,
): Promise<Trial> {
  const hasOld = draw.chance(0.6)
  cpSync(hasOld ? known.withOld : known.without, work, { recursive: true })
  try {
    if (disturbance === 'two writers') return await twoWriters(scenario, known, work)
    const at = draw.between(1, known.operations + 2)
    const killAfter = draw.real() * known.milliseconds * 1.1
    const before = { text: `${scenario.name}, ${hasOld ? 'over an old save' : 'a new folder'}`, disturbance }
    if (disturbance === 'kill at a random moment') {
      const ended = await runCli(scenario.args('new'), { cwd: work, patience: 120_000, killAfter })
      const text = `${before.text}, killed after ${killAfter.toFixed(0)} ms`
      const resumed = await check(scenario, known, work, hasOld, text)
      return { ...before, text, hit: ended.signal === 'SIGKILL', resumed }
    }
    const environment = {
      CENTROIDAL_CRASH_UNDER: work,
      CENTROIDAL_CRASH_AT: String(at),
      CENTROIDAL_CRASH_MODE: disturbance === 'full disk' ? 'full' : 'kill',
    }
    const ended = await runCli(scenario.args('new'), {
      cwd: work,
      patience: 120_000,
      nodeOptions: ['--import', PRELOAD],
      environment,
    })
    const text = `${before.text}, ${disturbance} ${at} of ${known.operations}`
    if (disturbance === 'full disk') await checkFull(scenario, work, hasOld, ended, text)
    const resumed = await check(scenario, known, work, hasOld, text)
    return { ...before, text, hit: ended.signal === 'SIGKILL' || ended.code !== 0, resumed }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Old or new, whole; then the next save ends in the right bits and leaves nothing behind. True if it was resumed. */
async function check(scenario: Scenario, known: Known, work: string, hasOld: boolean, text: string): Promise<boolean> {
  const out = join(work, scenario.out)
  const state = await loaded(scenario, out, text)
  if (state === undefined && hasOld) throw new Failure('wrong result', `${text}: the old save is gone`)
  const isNew = state !== undefined && known.whole.new.has(state)
  const isOld = state !== undefined && known.whole.old.has(state)
  if (state !== undefined && !isNew && !(hasOld && isOld))
    throw new Failure('silent acceptance', `${text}: a mixture of two saves`)
  const resume = isNew && !isOld && scenario.resumeArgs ? scenario.resumeArgs() : undefined
  const next = await runCli(resume ?? scenario.args('new'), { cwd: work, patience: 120_000 })
  if (next.code !== 0) throw new Failure('wrong result', `${text}: the next save fails: ${lastLine(next)}`)
  const after = await loaded(scenario, out, `${text}, after the next save`)
  if (after !== known.finished.new) {
    throw new Failure('wrong result', `${text}: ${resume ? 'resumed' : 'run again'}, it ends in other bits`)
  }
  const left = leftovers(scenario, known, work)
  if (left.length > 0) throw new Failure('leftover', `${text}: the next save leaves ${left.join(', ')}`)
  return resume !== undefined
}

async function loaded(scenario: Scenario, out: string, text: string): Promise<string | undefined> {
  try {
    return await scenario.state(out)
  } catch (error) {
    throw new Failure('wrong result', `${text}: cannot be loaded: ${(error as Error).message}`)
  }
}

/** Files that do not belong to a finished save. */
function leftovers(scenario: Scenario, known: Known, work: string): string[] {
  const wanted = new Set(known.files)
  const inside = filesIn(join(work, scenario.out)).filter((name) => !wanted.has(name))
  const folder = dirname(join(work, scenario.out))
  const beside = readdirSync(folder).filter((name) => /\.partial|^\.saving|\.lock$|^\.centroidal/.test(name))
  return [...inside, ...beside]
}

async function checkFull(scenario: Scenario, work: string, hasOld: boolean, ended: Ended, text: string): Promise<void> {
  if (ended.code === 0) return
  if (ended.code !== 2 || !/disk is full/.test(ended.stderr)) {
    throw new Failure('raw error', `${text}: exit ${ended.code ?? ended.signal}: ${lastLine(ended)}`)
  }
  const out = join(work, scenario.out)
  const state = await loaded(scenario, out, text)
  if (state === undefined) {
    const files = filesIn(out)
    if (hasOld) throw new Failure('wrong result', `${text}: the old save is gone`)
    if (files.length > 0) throw new Failure('leftover', `${text}: half a save stays: ${files.join(', ')}`)
  }
}

async function twoWriters(scenario: Scenario, known: Known, work: string): Promise<Trial> {
  const ends = await Promise.all(
    (['old', 'new'] as const).map((variant) => runCli(scenario.args(variant), { cwd: work, patience: 120_000 })),
  )
  const text = `${scenario.name}, two writers`
  for (const ended of ends)
    if (ended.code !== 0) throw new Failure('wrong result', `${text}: one is refused: ${lastLine(ended)}`)
  const state = await loaded(scenario, join(work, scenario.out), text)
  const winner = (['old', 'new'] as const).find((variant) => known.finished[variant] === state)
  if (winner === undefined) throw new Failure('silent acceptance', `${text}: neither one's result`)
  for (const name of ['report.html', 'run.json']) {
    const path = join(work, scenario.out, name)
    if (!known.files.includes(name)) continue
    const page = readFileSync(path, 'utf8')
    if (!page.includes(`title-${winner}`)) throw new Failure('silent acceptance', `${text}: ${name} is the other one's`)
  }
  return { disturbance: 'two writers', text, hit: true, resumed: false }
}

function lastLine({ stderr }: Ended): string {
  return stderr.trim().split('\n').at(-1) ?? ''
}
