/**
 * Every argument and every option of every export with values that callers pass by mistake: either the value is right
 * for its place, or it is refused with a CentroidalError. Nothing else may happen: no raw TypeError, no silent
 * acceptance, no call that does not end.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as library from '../../src/index.ts'
import { type Fixtures, makeFixtures } from './fixtures.ts'
import type { Argument, Call } from './places.ts'
import { callsOf } from './table.ts'
import { CallersError, TAKEN, WRONG, WRONG_SIGNALS, WRONG_VECTORS } from './values.ts'
import { startWatchdog } from './watchdog.ts'

const MOST_SECONDS = 20

let fixtures: Fixtures
const before = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'arguments-'))
const watchdog = startWatchdog(MOST_SECONDS)

beforeAll(async () => {
  // Some of the wrong values are names of files.
  process.chdir(folder)
  fixtures = await makeFixtures()
})

afterAll(async () => {
  watchdog.watch('')
  await watchdog.stop()
  await fixtures.device.close()
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

/** What to try in a place, and whether it is right there. */
function* tries(place: Omit<Argument, 'name' | 'right'>): Generator<[string, () => unknown, boolean]> {
  const kind = place.place
  const taken: readonly string[] = Object.hasOwn(TAKEN, kind) ? TAKEN[kind as keyof typeof TAKEN] : []
  const special: Record<string, Record<string, () => unknown>> = { vectors: WRONG_VECTORS, signal: WRONG_SIGNALS }
  for (const [name, make] of Object.entries({ ...WRONG, ...special[kind] })) {
    // Without a device one of the machine's own choice is opened, which takes long.
    const opens = kind === 'device' || place.options?.device !== undefined
    if (opens && ['undefined', ...TAKEN.options].includes(name)) continue
    if (place.skip?.includes(name)) continue
    yield [name, make, (taken.includes(name) || place.also?.includes(name) === true) && !place.not?.includes(name)]
  }
}

async function outcome(call: () => unknown): Promise<'taken' | 'refused' | string> {
  try {
    await call()
    return 'taken'
  } catch (error) {
    if (error instanceof CallersError) return 'refused'
    if (!(error instanceof library.CentroidalError))
      return `raw ${error instanceof Error ? error.stack : String(error)}`
    if (error.message.length > 1000) return `a message of ${error.message.length} characters`
    return 'refused'
  }
}

async function failuresOf(name: string, { call, arguments: places }: Call): Promise<string[]> {
  const failures: string[] = []
  const right = places.map((place) => place.right)
  const attempt = async (what: string, values: readonly unknown[], expected: 'taken' | 'refused'): Promise<void> => {
    watchdog.watch(`${name}: ${what}`)
    const found = await outcome(() => call(...values))
    if (found !== expected) failures.push(`${what}: ${found}, expected: ${expected}`)
  }
  if (places.every(({ name: of }) => of !== 'folder')) await attempt('right arguments', right, 'taken')
  for (const [at, place] of places.entries()) {
    for (const [label, make, fits] of tries(place)) {
      await attempt(`${place.name} = ${label}`, right.with(at, make()), fits ? 'taken' : 'refused')
    }
    for (const [option, inner] of Object.entries(place.options ?? {})) {
      for (const [label, make, fits] of tries(inner)) {
        if (label === 'undefined' && !inner.also?.includes(label)) continue
        const values = right.with(at, { ...(right[at] as object), [option]: make() })
        await attempt(`${option} = ${label}`, values, fits ? 'taken' : 'refused')
      }
    }
  }
  return failures
}

describe('wrong arguments', () => {
  test('every export is in the table', () => {
    expect(Object.keys(callsOf(fixtures)).sort()).toEqual(Object.keys(library).sort())
  })

  test.each(Object.keys(library))('%s', async (name) => {
    const calls = callsOf(fixtures)[name]
    if (typeof calls === 'string') return
    const failures: string[] = []
    for (const call of calls) failures.push(...(await failuresOf(name, call)))
    expect(failures).toEqual([])
  })
})
