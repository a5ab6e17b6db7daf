/** The panel with the TypeScript lines that compute what the page shows, and the file of vectors they read. */
import type { ClusterOptions, Matrix } from '../../src/index.ts'
import { element, put } from './dom.ts'
import { download } from './download.ts'
import type { Page } from './page.ts'

const FILE = 'vectors.npy'

export interface CodePanel {
  show(code: string): void
}

/** `vectors` returns the vectors that the page clusters, or undefined while there are none. */
export function codePanel(
  page: () => Page,
  vectors: () => Matrix | undefined | Promise<Matrix | undefined>,
): CodePanel {
  element('save-vectors').addEventListener('click', async () => {
    try {
      const content = await vectors()
      if (!content) return page().warn('There are no vectors to save yet.')
      download(await page().engine.start('file-bytes', { name: FILE, content }).result, FILE)
    } catch (error) {
      page().fail(error)
    }
  })
  return { show: (code) => put('code', code) }
}

/** Lines that cluster the saved vectors once for each of these options. */
export function clusteringCode(runs: readonly ClusterOptions[]): string {
  const read = `import { cluster, readVectors } from 'centroidal'

const vectors = await readVectors('${FILE}') // see the button below`
  if (runs.length === 1) {
    return `${read}
const model = await cluster(vectors, ${literal(runs[0])})
console.log(model.facts.method, model.distortion)`
  }
  return `${read}
const runs = [
${runs.map((options) => `  ${literal(options)},\n`).join('')}]
for (const options of runs) {
  const model = await cluster(vectors, options)
  console.log(model.facts.method, model.distortion)
}`
}

/** Plain values as a person writes them. */
export function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return `{ ${entries.map(([name, part]) => `${name}: ${literal(part)}`).join(', ')} }`
}
