/** What the documents point to is there, and they leave out nothing that they are to name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { documents, ROOT } from './markdown.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const prose = (path: string): string => read(path).replaceAll(/```[\s\S]*?```/g, '')

/** Headings as anchors, the way Markdown viewers make them. */
function anchors(path: string): Set<string> {
  const taken = new Map<string, number>()
  const found = new Set<string>()
  for (const [, heading] of prose(path).matchAll(/^#+ (.*)$/gm)) {
    const plain = heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
    const count = taken.get(plain) ?? 0
    taken.set(plain, count + 1)
    found.add(count === 0 ? plain : `${plain}-${count}`)
  }
  return found
}

test.each(documents())('links of %s lead somewhere', (path) => {
  const missing: string[] = []
  for (const [, target] of prose(path).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(target)) continue
    const [file, anchor] = target.split('#')
    const full = file === '' ? path : join(dirname(path), file)
    if (!existsSync(join(ROOT, full))) missing.push(target)
    else if (anchor && !anchors(full).has(anchor)) missing.push(target)
  }
  expect(missing).toEqual([])
})

test('ARCHITECTURE.md names every room, and only kernels that exist', () => {
  const text = read('ARCHITECTURE.md')
  const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name } of rooms) expect(text).toContain(`| \`src/${name}\` `.trimEnd())
  const table = text.split('\n## Kernels\n')[1].split('\n\n')
  const kernels = [...table[table.findIndex((part) => part.startsWith('| '))].matchAll(/^\| ([\w-]+) +\|/gm)]
  expect(kernels.length).toBeGreaterThan(20)
  const files = readdirSync(join(ROOT, 'src/kernels'))
  for (const [, kernel] of kernels.slice(2)) expect(files).toContain(`${kernel}.ts`)
})

test('versions and papers agree wherever they are written', () => {
  const { version, license } = JSON.parse(read('package.json'))
  const citation = read('CITATION.cff')
  expect(citation).toContain(`\nversion: ${version}\n`)
  expect(citation).toContain(`\nlicense: ${license}\n`)
  expect(read('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m)
  const titles = [...citation.matchAll(/^ {4}title: '?(.*?)'?$/gm)].map(([, title]) => title)
  expect(titles).toHaveLength(5)
  const papers = read('README.md').split('\n## Papers\n')[1].replaceAll(/\s+/g, ' ')
  for (const title of titles) expect(papers).toContain(`*${title}.*`)
})

test('words that users of other libraries look for lead somewhere', () => {
  const guide = read('docs/coming-from.md')
  for (const word of [
    'embeddings',
    'inertia',
    'silhouette',
    'inner product',
    'NumPy',
    'pandas',
    'faiss',
    'scikit-learn',
  ]) {
    expect(guide.toLowerCase(), word).toContain(word.toLowerCase())
  }
  expect(read('README.md')).toContain('(docs/coming-from.md)')
})
