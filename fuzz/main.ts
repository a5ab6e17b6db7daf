/** npm run fuzz: reads the options, runs a campaign or a single case, prints the table. */
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AREAS } from './areas.ts'
import { type AreaTally, runCampaign } from './campaign.ts'
import { runCrashes } from './crashes.ts'
import { Runner } from './runner.ts'
import { asJson, failureLines, tableOf } from './table.ts'

const USAGE = `npm run fuzz -- [options]
  --minutes <n>      how long (default: 5); --seconds <n> for shorter runs
  --cases <n>        stop after so many cases
  --each <n>         the first n cases of each area, however long they take
  --area <names>     one area or several, separated by commas; default: all
                     (${AREAS.map(({ name }) => name).join(', ')})
  --seed <n>         default: a fresh one, which is printed
  --repeat <case>    run one case again: area:seed:number
  --crashes <n>      kill the command line n times while it saves, instead of fuzzing
  --processes <n>    default: one for each core
  --json <file>      write the result as JSON`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    cases: { type: 'string' },
    each: { type: 'string' },
    area: { type: 'string' },
    seed: { type: 'string' },
    repeat: { type: 'string' },
    crashes: { type: 'string' },
    processes: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
})

function wrong(message: string): never {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}

function number(
  name: 'minutes' | 'seconds' | 'cases' | 'each' | 'seed' | 'crashes' | 'processes',
  fallback: number,
): number {
  const text = values[name]
  if (text === undefined) return fallback
  const value = Number(text)
  if (!(value > 0 || (name === 'seed' && value === 0))) wrong(`--${name} is ${text}: give a positive number.`)
  return value
}

/** A memory file system where there is one: cases write many small files. */
function scratchFolder(): string {
  for (const parent of ['/dev/shm', tmpdir()]) {
    try {
      const { bavail, bsize } = statfsSync(parent)
      if (parent === tmpdir() || bavail * bsize > 2 ** 30) return mkdtempSync(join(parent, 'centroidal-fuzz-'))
    } catch {
      // Not there: the next one.
    }
  }
  return mkdtempSync(join(tmpdir(), 'centroidal-fuzz-'))
}

async function repeat(text: string, folder: string): Promise<number> {
  const [name, seed, at] = text.split(':')
  const area = AREAS.find((candidate) => candidate.name === name)
  if (!area || !Number.isInteger(Number(seed)) || !Number.isInteger(Number(at))) {
    wrong(`--repeat is ${text}: give area:seed:number.`)
  }
  const runner = new Runner(folder)
  let failed = false
  await runner.run(
    area,
    { area: area.name, seed: Number(seed), first: Number(at), count: 1, seconds: 1 },
    ({ failure }) => {
      failed = failure !== undefined
      if (failure) console.log(`${failure.kind}: ${failure.message}\n${failure.note}\n${failure.stack}`)
      else console.log('No failure.')
    },
  )
  await runner.close()
  return failed ? 1 : 0
}

async function campaign(folder: string): Promise<number> {
  const names = values.area?.split(',')
  for (const name of names ?? []) if (!AREAS.some((area) => area.name === name)) wrong(`There is no area ${name}.`)
  const areas = AREAS.filter(({ name }) => names === undefined || names.includes(name))
  const seed = number('seed', Math.floor(Math.random() * 2 ** 31))
  const cases = number('cases', Number.POSITIVE_INFINITY)
  const each = number('each', Number.POSITIVE_INFINITY)
  const counted = Number.isFinite(cases) || Number.isFinite(each)
  const limited = values.minutes === undefined && values.seconds === undefined && counted
  const seconds = limited ? Number.POSITIVE_INFINITY : number('seconds', number('minutes', 5) * 60)
  console.log(`Seed ${seed}.`)
  const began = performance.now()
  let told = began
  const onProgress = (tallies: readonly AreaTally[]): void => {
    if (performance.now() - told < 30_000) return
    told = performance.now()
    const sum = (of: (tally: AreaTally) => number): number => tallies.reduce((total, tally) => total + of(tally), 0)
    const spent = Math.round((told - began) / 1000)
    console.error(`${spent} s: ${sum(({ tries }) => tries)} cases, ${sum(({ failures }) => failures)} failures`)
  }
  const processes = number('processes', availableParallelism())
  const tallies = await runCampaign({ areas, seed, seconds, cases, each, processes, folder, onProgress })
  console.log(tableOf(tallies))
  for (const line of failureLines(tallies, seed)) console.log(line)
  if (values.json) writeFileSync(values.json, asJson(tallies, seed, (performance.now() - began) / 1000))
  return tallies.some(({ failures }) => failures > 0) ? 1 : 0
}

if (values.help) console.log(USAGE)
else {
  const folder = scratchFolder()
  try {
    const crashes = number('crashes', 0)
    if (values.repeat !== undefined) process.exitCode = await repeat(values.repeat, folder)
    else if (crashes > 0) {
      const seed = number('seed', Math.floor(Math.random() * 2 ** 31))
      process.exitCode = await runCrashes({ kills: crashes, seed, folder, json: values.json, only: values.area })
    } else process.exitCode = await campaign(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
