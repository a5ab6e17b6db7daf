/** Kills, full disks and rival writers while the command line saves: the table of crashes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Failure } from './area.ts'
import { type Disturbance, disturb } from './crashes/kills.ts'
import { type Known, prepareInputs, prepareScenario } from './crashes/known.ts'
import { SCENARIOS, type Scenario } from './crashes/scenarios.ts'
import { Draw } from './draw.ts'
import { markdownTable } from './table.ts'

export interface CrashOptions {
  /** Disturbed saves in all. */
  readonly kills: number
  readonly seed: number
  readonly folder: string
  readonly json: string | undefined
  /** Scenarios whose name contains this. Default: all. */
  readonly only?: string | undefined
}

interface Row {
  tries: number
  hits: number
  resumed: number
  failures: string[]
}

/** Of ten trials: how each is disturbed. */
const MIX: readonly Disturbance[] = [
  ...Array<Disturbance>(4).fill('kill at a random moment'),
  ...Array<Disturbance>(4).fill('kill at a file operation'),
  'full disk',
  'two writers',
]

export async function runCrashes({ kills, seed, folder, json, only = '' }: CrashOptions): Promise<number> {
  console.log(`Seed ${seed}.`)
  const scenarios = SCENARIOS.filter(({ name }) => name.includes(only))
  const inputs = await prepareInputs(folder)
  const known = new Map<Scenario, Promise<Known>>()
  const rows = new Map<Disturbance, Row>()
  for (const disturbance of MIX) rows.set(disturbance, { tries: 0, hits: 0, resumed: 0, failures: [] })
  let next = 0
  let told = performance.now()
  const work = async (): Promise<void> => {
    while (next < kills) {
      const number = next++
      const draw = new Draw('crashes', seed, number)
      // In turn, so that every command is disturbed in every way.
      const scenario = scenarios[number % scenarios.length]
      const disturbance = MIX[Math.floor(number / scenarios.length + draw.below(MIX.length)) % MIX.length]
      const row = rows.get(disturbance) as Row
      let ready = known.get(scenario)
      if (ready === undefined) {
        ready = prepareScenario(scenario, inputs, folder)
        known.set(scenario, ready)
      }
      const place = join(folder, `trial-${number}`)
      mkdirSync(place)
      try {
        const { hit, resumed } = await disturb(draw, disturbance, scenario, await ready, join(place, 'work'))
        if (hit) row.hits++
        if (resumed) row.resumed++
      } catch (error) {
        const kind = error instanceof Failure ? `${error.kind}: ` : ''
        row.failures.push(`${kind}${(error as Error).message}`)
      }
      row.tries++
      if (performance.now() - told > 30_000) {
        told = performance.now()
        const failures = [...rows.values()].reduce((sum, each) => sum + each.failures.length, 0)
        console.error(`${next} of ${kills} trials, ${failures} failures`)
      }
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  console.log(tableOf(rows))
  for (const [disturbance, { failures }] of rows) for (const text of failures) console.log(`${disturbance}: ${text}`)
  if (json) writeFileSync(json, `${JSON.stringify({ seed, rows: Object.fromEntries(rows) }, undefined, 2)}\n`)
  return [...rows.values()].some(({ failures }) => failures.length > 0) ? 1 : 0
}

function tableOf(rows: ReadonlyMap<Disturbance, Row>): string {
  const lines = [...rows].map(([name, { tries, hits, resumed, failures }]) => [
    name,
    String(tries),
    String(hits),
    String(resumed),
    String(failures.length),
  ])
  return markdownTable(['disturbance', 'saves', 'cut short', 'resumed', 'failures'], lines)
}
