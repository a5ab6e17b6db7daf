/**
 * One child process and the batches it works on. A case that takes too long, too much memory or the process with it is
 * a failure of that case; the process is then replaced.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Area } from './area.ts'
import type { Batch, Found, Report } from './child.ts'

export interface CaseResult {
  readonly area: string
  readonly number: number
  readonly failure: Found | undefined
}

const CHILD = new URL('./child.js', import.meta.url)
const HEAP_MEGABYTES = 768
const DEFAULT_MEGABYTES = 1500
const WATCH_MS = 100
const CASES_PER_PROCESS = 4000

export class Runner {
  #child: ChildProcess | undefined
  /** Cases by area in the present process. */
  readonly #cases = new Map<string, number>()
  #stderr = ''
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Runs a batch to its end, over several processes if need be. */
  async run(area: Area, batch: Batch, onResult: (result: CaseResult) => void): Promise<void> {
    let first = batch.first
    const end = batch.first + batch.count
    const ends = performance.now() + batch.seconds * 1000
    while (first < end && (first === batch.first || performance.now() < ends)) {
      const last = await this.#runUntilDeath(area, { ...batch, first, count: end - first }, onResult)
      first = last + 1
    }
    const cases = this.#cases.get(area.name) ?? 0
    if (cases > (area.casesPerProcess ?? CASES_PER_PROCESS)) await this.close()
  }

  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    this.#cases.clear()
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.connected) child.disconnect()
    const timer = setTimeout(() => child.kill('SIGKILL'), 2000)
    await ended
    clearTimeout(timer)
  }

  /** Resolves with the number of the last case that was dealt with. */
  #runUntilDeath(area: Area, batch: Batch, onResult: (result: CaseResult) => void): Promise<number> {
    const child = this.#process()
    return new Promise((resolve) => {
      let current = batch.first
      let began = performance.now()
      let death: Found | undefined
      const finish = (last: number): void => {
        clearInterval(watch)
        child.removeAllListeners('message')
        child.removeAllListeners('exit')
        resolve(last)
      }
      const kill = (kind: 'hang' | 'memory', message: string): void => {
        death ??= { kind, message, note: '', stack: '' }
        child.kill('SIGKILL')
      }
      const watch = setInterval(() => {
        const seconds = (performance.now() - began) / 1000
        const limit = area.megabytes ?? DEFAULT_MEGABYTES
        const used = residentMegabytes(child.pid)
        if (seconds > area.seconds) kill('hang', `no end after ${area.seconds} s`)
        else if (used > limit) kill('memory', `more than ${limit} MB of memory`)
      }, WATCH_MS)
      child.on('message', (report: Report) => {
        if ('begun' in report) {
          current = report.begun
          began = performance.now()
        } else if ('ended' in report) {
          this.#cases.set(area.name, (this.#cases.get(area.name) ?? 0) + 1)
          onResult({ area: area.name, number: report.ended, failure: report.failure })
        } else finish(batch.first + batch.count - 1)
      })
      child.on('exit', (code, signal) => {
        this.#child = undefined
        this.#cases.clear()
        const [line = ''] = this.#stderr.split('\n').filter((text) => /error|fatal|abort/i.test(text))
        const failure = death ?? {
          kind: 'crash' as const,
          message: `the process ended with ${signal ?? `code ${code}`} ${line}`.trim(),
          note: '',
          stack: this.#stderr,
        }
        onResult({ area: area.name, number: current, failure })
        finish(current)
      })
      child.send(batch)
    })
  }

  #process(): ChildProcess {
    if (this.#child?.connected) return this.#child
    this.#stderr = ''
    const child = fork(CHILD, [], {
      execArgv: [`--max-old-space-size=${HEAP_MEGABYTES}`],
      env: { ...process.env, CENTROIDAL_NO_GPU: '1', NO_COLOR: '1', CENTROIDAL_FUZZ_FOLDER: this.#folder },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'json',
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-4000)
    })
    this.#child = child
    return child
  }
}

/** 0 where the system does not tell. */
function residentMegabytes(pid: number | undefined): number {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    return (pages * 4096) / 1e6
  } catch {
    return 0
  }
}
