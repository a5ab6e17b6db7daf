/** What undisturbed runs of a scenario give: the yardstick for disturbed ones. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCli } from '../cli.ts'
import { PREPARING, type Scenario, type Variant, writeInputs } from './scenarios.ts'

export const PRELOAD = fileURLToPath(new URL('./crash-preload.js', import.meta.url))

export interface Known {
  /** The working folder with the old save in place, and the same without. */
  readonly withOld: string
  readonly without: string
  /** Bits of the finished saves. */
  readonly finished: Readonly<Record<Variant, string>>
  /** Bits of every save on the way, checkpoints included. */
  readonly whole: Readonly<Record<Variant, ReadonlySet<string>>>
  /** Names of the files of a finished save. */
  readonly files: readonly string[]
  /** Operations on files while the new one is saved. */
  readonly operations: number
  /** Milliseconds that saving the new one takes. */
  readonly milliseconds: number
}

/** Inputs that all scenarios share. */
export async function prepareInputs(folder: string): Promise<string> {
  const cwd = join(folder, 'inputs')
  mkdirSync(cwd)
  await writeInputs(cwd)
  for (const args of PREPARING) await must(args, cwd)
  return cwd
}

export async function prepareScenario(scenario: Scenario, inputs: string, folder: string): Promise<Known> {
  const base = join(folder, scenario.name.replaceAll(' ', '-'))
  mkdirSync(base)
  const [without, withOld, work] = ['without', 'with-old', 'work'].map((name) => join(base, name))
  cpSync(inputs, without, { recursive: true })
  cpSync(inputs, withOld, { recursive: true })
  await must(scenario.args('old'), withOld)
  const old = await scenario.state(join(withOld, scenario.out))
  cpSync(withOld, work, { recursive: true })
  const countFile = join(base, 'count')
  const began = performance.now()
  await must(scenario.args('new'), work, {
    CENTROIDAL_CRASH_UNDER: work,
    CENTROIDAL_CRASH_COUNT: countFile,
  })
  const milliseconds = performance.now() - began
  const fresh = await scenario.state(join(work, scenario.out))
  if (old === undefined || fresh === undefined || old === fresh)
    throw new Error(`${scenario.name}: the saves are alike`)
  const whole = {
    old: new Set([old, ...((await scenario.states?.('old')) ?? [])]),
    new: new Set([fresh, ...((await scenario.states?.('new')) ?? [])]),
  }
  return {
    withOld,
    without,
    finished: { old, new: fresh },
    whole,
    files: filesIn(join(work, scenario.out)),
    operations: Number(readFileSync(countFile, 'utf8')),
    milliseconds,
  }
}

async function must(args: readonly string[], cwd: string, environment: Record<string, string> = {}): Promise<void> {
  const nodeOptions = environment.CENTROIDAL_CRASH_UNDER ? ['--import', PRELOAD] : []
  const ended = await runCli(args, { cwd, patience: 120_000, nodeOptions, environment })
  if (ended.code !== 0) throw new Error(`${args.join(' ')}: exit ${ended.code} ${ended.stderr}`)
}

/** Names of all files below a folder, or the name of the file itself. */
export function filesIn(path: string): string[] {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return ['.']
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(path, name)).isDirectory())
    .sort()
}
