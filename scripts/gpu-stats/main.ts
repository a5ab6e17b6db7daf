/** The command behind npm run gpu:stats. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Compiled, compileKernels, DriverError } from './compile.ts'
import { findDriver, INSTALLING } from './driver.ts'
import { DEFAULT_FAMILIES, FAMILIES } from './families.ts'
import { type Kernel, kernelsOf } from './kernels.ts'
import { loadShaders } from './load-shaders.ts'
import { missedTargets, type Row, rowOf, type Target, tableOf } from './report.ts'

const HELP = `npm run gpu:stats -- [options]

What a GPU compiler makes of every WGSL kernel, for GPUs that need not be there; docs/gpu.md explains the columns.

  --family LIST   ${Object.keys(FAMILIES).join(', ')}; default ${DEFAULT_FAMILIES.join(',')}
  --only TEXT     kernels whose name, or file in shaders/, contains TEXT
  --json FILE     write the table as JSON, too
  --isa           print the machine code of the kernels
  --icd PATH      manifest of Mesa's AMD driver, radeon_icd.json
  --shim PATH     Mesa's shim, libamdgpu_noop_drm_shim.so
  --help

Exit code: 0 if all targets of scripts/gpu-stats/targets.json are met, 1 if not, 2 if nothing could be compiled.`

export async function main(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`)
    return 2
  }
  if (options.help) {
    console.log(HELP)
    return 0
  }
  const found = findDriver(options)
  if ('missing' in found) {
    console.error(`${found.missing.join('\n')}\n\n${INSTALLING}`)
    return 2
  }
  const kernels = await chosenKernels(options.only)
  if (kernels.length === 0) {
    console.error(`No kernel matches "${options.only}".`)
    return 2
  }
  const tables: { family: string; rows: Row[] }[] = []
  try {
    for (const name of options.families) {
      const compiled = compileKernels(kernels, FAMILIES[name], found.driver)
      const rows = compiled.map((kernel) => rowOf(kernel, FAMILIES[name]))
      tables.push({ family: name, rows })
      console.log(`\n${name}, ${FAMILIES[name].architecture}\n${tableOf(rows)}`)
      if (options.isa) printCode(compiled)
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    console.error(`${error.message}\n\n${INSTALLING}`)
    return 2
  }
  const targets = JSON.parse(readFileSync(new URL('../../scripts/gpu-stats/targets.json', import.meta.url), 'utf8'))
  const missed = tables.flatMap(({ family, rows }) =>
    missedTargets(rows, family, targets as Target[], { partial: options.only !== undefined }),
  )
  if (options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify({ families: tables, missed }, undefined, 2)}\n`)
  }
  if (missed.length === 0) {
    console.log('\nAll targets are met.')
    return 0
  }
  console.error(`\n${missed.length} targets are missed:\n${missed.map((line) => `  ${line}`).join('\n')}`)
  return 1
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      family: { type: 'string', default: DEFAULT_FAMILIES.join(',') },
      only: { type: 'string' },
      json: { type: 'string' },
      isa: { type: 'boolean', default: false },
      icd: { type: 'string' },
      shim: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const families = values.family.split(',')
  const unknown = families.find((family) => !Object.hasOwn(FAMILIES, family))
  if (unknown !== undefined) {
    throw new Error(`Unknown family "${unknown}": one of ${Object.keys(FAMILIES).join(', ')}.`)
  }
  return { ...values, families }
}

async function chosenKernels(only: string | undefined): Promise<Kernel[]> {
  const kernels = kernelsOf(await loadShaders(), { subgroups: true, f16: true })
  return only === undefined ? kernels : kernels.filter(({ file, name }) => `${file} ${name}`.includes(only))
}

function printCode(compiled: readonly Compiled[]): void {
  for (const { kernel, result } of compiled) {
    if ('assembly' in result) console.log(`\n${kernel.name}\n${result.assembly}`)
  }
}
