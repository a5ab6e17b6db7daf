/**
 * Vectors larger than memory, and very many clusters: seconds, the peak memory of the process, and whether the labels are
 * those of a run with everything in memory over the same parts.
 *
 *   npm run bench -- memory [--rows 3000000] [--k 3000] [--memory 256,0] [--rounds 3] [--threads 2] [--part 32] [--file vectors.npy] [--parts runs,commands]
 *
 * The file gets blobs of 128 bytes, --rows of them, and is removed afterwards; with --keep it stays, and is used again if it
 * is there. Each number of --memory (MB, 0: no limit) is a run in a process of its own. Parts have at most --part MB of
 * vectors in all runs, an eighth of the first limit unless it is given; a limit may not require less. Clusters are not
 * relocated, as by default where so many vectors are clustered in so little memory. The part `commands` measures the
 * commands that take such a limit, with the first one.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CommandRun, measureCommands } from './memory/commands.ts'
import { type LimitedRun, measureLimited } from './memory/limited.ts'
import { writeBlobs } from './memory/write-blobs.ts'
import { keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '3000000' },
    k: { type: 'string', default: '3000' },
    memory: { type: 'string', default: '256,0' },
    rounds: { type: 'string', default: '3' },
    part: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    file: { type: 'string', default: join(tmpdir(), `centroidal-bench-${process.pid}.npy`) },
    keep: { type: 'boolean', default: false },
    parts: { type: 'string', default: 'runs' },
    // How this script runs itself, so that each measurement has a process of its own.
    run: { type: 'string' },
  },
})
const MEGABYTE = 2 ** 20
const MOST_PART = 256
const [first] = flags.memory.split(',').map(Number)
const partBytes = MEGABYTE * Number(flags.part ?? (first > 0 ? Math.min(MOST_PART, first / 8) : MOST_PART))

if (flags.run !== undefined) {
  console.log(JSON.stringify(await measureLimited(JSON.parse(flags.run) as LimitedRun)))
} else {
  const { file } = flags
  if (!(flags.keep && existsSync(file))) writeBlobs(file, Number(flags.rows), Math.ceil(Number(flags.rows) / 100))
  const parts = new Set(flags.parts.split(','))
  try {
    if (parts.has('runs')) measureRuns()
    if (parts.has('commands')) await measureCommandLine()
  } finally {
    if (!flags.keep) rmSync(file, { force: true })
  }
}

function measureRuns(): void {
  const { threads, k } = flags
  const results = flags.memory.split(',').map((megabytes) => measureAlone(Number(megabytes)))
  printTable(
    `closures-sharp, ${results[0].rows.toLocaleString('en')} x 128 bytes, k = ${k}, CPU device, ${threads} threads`,
    results.map((result) => ({
      'limit MB': result.megabytes > 0 ? result.megabytes : 'none',
      'peak memory MB': Math.round(result.peakBytes / 1e6),
      'share of the limit': result.megabytes > 0 ? result.peakBytes / (result.megabytes * MEGABYTE) : '-',
      rounds: result.rounds,
      'start s': result.startSeconds,
      's / round': result.roundSeconds,
      'all s': result.seconds,
      distortion: result.distortion,
      'hash of labels': result.labels,
    })),
  )
  for (const { megabytes, holders } of results) {
    printTable(
      megabytes > 0 ? `What holds memory at the peak, ${megabytes} MB` : 'What holds memory at the peak, no limit',
      holders.map(({ what, bytes }) => ({ what, MB: Math.round(bytes / 1e6) })),
    )
  }
  keepResults('memory', { threads, k: Number(k), results })
}

async function measureCommandLine(): Promise<void> {
  const { threads } = flags
  const rows = Number(flags.rows)
  const results = await measureCommands(settingsOf(first))
  printTable(
    `Commands, ${rows.toLocaleString('en')} x 128 bytes, --memory ${first}MB`,
    results.map(({ command, seconds, peakBytes }) => ({
      command,
      s: seconds,
      'peak memory MB': Math.round(peakBytes / 1e6),
      'share of the limit': peakBytes / (first * MEGABYTE),
    })),
  )
  keepResults('memory-commands', { threads, rows, k: Number(flags.k), megabytes: first, results })
}

function settingsOf(megabytes: number): CommandRun {
  const { file, k, rounds, threads } = flags
  return { file, k: Number(k), rounds: Number(rounds), threads: Number(threads), megabytes }
}

function measureAlone(megabytes: number): Awaited<ReturnType<typeof measureLimited>> {
  const run: LimitedRun = { ...settingsOf(megabytes), partBytes }
  const { stdout, status } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), '--run', JSON.stringify(run)],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  if (status !== 0) throw new Error(`The run with ${megabytes} MB ended with ${status}`)
  return JSON.parse(stdout)
}
