/** The figure on the front page, from the results that the benchmark left in bench/results. Read when pages are built. */
import { readFileSync } from 'node:fs'

interface Run {
  readonly k: number
  readonly run: string
  readonly rounds: number
  readonly seconds: number
  readonly 'passes faiss in': string
}

interface Results {
  readonly machine: { readonly cpu: string; readonly cores: number }
  readonly threads: number
  readonly 'faiss, vectors': { readonly rows: number; readonly table: readonly Run[] }
}

const FILE = new URL('../../bench/results/sharp.json', import.meta.url)
const K = 10_000

export interface Headline {
  readonly figure: string
  /** What was compared, and on which hardware. */
  readonly about: string
}

/** Of two measurements the one that is less in our favour. */
export function headline(): Headline {
  const results = JSON.parse(readFileSync(FILE, 'utf8')) as Results
  const { rows, table } = results['faiss, vectors']
  const atK = table.filter(({ k }) => k === K)
  const faiss = atK.find(({ run }) => run.startsWith('faiss')) as Run
  const passes = atK.filter(({ run }) => run.startsWith('closures-sharp'))
  const slowest = Math.max(...passes.map((run) => Number.parseFloat(run['passes faiss in'])))
  const cpu = results.machine.cpu.replace(/\((?:R|TM)\)| Processor| CPU/g, '').replace(/\s+/g, ' ')
  return {
    figure: `${Math.floor(faiss.seconds / slowest)} ×`,
    about: `faster than ${faiss.run} to the same k-means result: ${rows.toLocaleString('en')} SIFT vectors, k = ${K.toLocaleString('en')}, ${results.threads} threads of an ${cpu.trim().replace('@ ', '')}, no GPU.`,
  }
}
