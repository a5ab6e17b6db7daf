/**
 * A process that runs cases one after the other, as the parent asks. The parent hears of every case before it begins,
 * so that it can name the case after a hang or a crash.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Area, Failure, type FailureKind } from './area.ts'
import { AREAS } from './areas.ts'
import { Draw } from './draw.ts'

export interface Batch {
  readonly area: string
  readonly seed: number
  readonly first: number
  readonly count: number
  /** No further case begins after this time; the rest of the batch is left out. */
  readonly seconds: number
}

export interface Found {
  readonly kind: FailureKind
  readonly message: string
  readonly note: string
  readonly stack: string
}

export type Report =
  | { readonly begun: number }
  | { readonly ended: number; readonly failure: Found | undefined }
  | { readonly finished: true }

const scratch = mkdtempSync(join(process.env.CENTROIDAL_FUZZ_FOLDER ?? tmpdir(), 'fuzz-'))
// Names without a folder, which some cases make up, end up there too.
process.chdir(scratch)
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

/** Errors that no promise carries, such as those of timers. They belong to the case that runs. */
let stray: unknown
let failStray: ((error: unknown) => void) | undefined
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    stray ??= new Failure('crash', `error outside of any call: ${(error as Error)?.message ?? error}`, { cause: error })
    failStray?.(stray)
  })
}

async function runCase(area: Area, seed: number, number: number): Promise<Found | undefined> {
  let note = ''
  let folders = 0
  const own = join(scratch, String(number))
  stray = undefined
  const strayed = new Promise<never>((_, reject) => {
    failStray = reject
  })
  strayed.catch(() => {})
  try {
    const running = area.run({
      draw: new Draw(area.name, seed, number),
      folder: () => {
        const folder = join(own, String(folders++))
        mkdirSync(folder, { recursive: true })
        return folder
      },
      note: (text) => {
        note = text
      },
    })
    await Promise.race([running, strayed])
    // An error of a timer or of a promise nobody waits for shows itself at the next turn.
    if (number % 8 === 0) await new Promise((resolve) => setTimeout(resolve))
    if (stray !== undefined) throw stray
    return undefined
  } catch (error) {
    return found(error, note)
  } finally {
    if (folders > 0) rmSync(own, { recursive: true, force: true })
  }
}

function found(error: unknown, note: string): Found {
  const cause = (error as Error)?.cause
  const stack = String((cause as Error)?.stack ?? (error as Error)?.stack ?? error)
  if (error instanceof Failure) return { kind: error.kind, message: error.message, note, stack }
  return { kind: 'raw error', message: String((error as Error)?.message ?? error), note, stack }
}

process.on('message', async ({ area: name, seed, first, count, seconds }: Batch) => {
  const area = AREAS.find((candidate) => candidate.name === name) as Area
  const send = (report: Report): void => void process.send?.(report)
  const ends = performance.now() + seconds * 1000
  for (let number = first; number < first + count && (number === first || performance.now() < ends); number++) {
    send({ begun: number })
    send({ ended: number, failure: await runCase(area, seed, number) })
  }
  send({ finished: true })
})
process.on('disconnect', () => process.exit(0))
