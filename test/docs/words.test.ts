/** Words that people search the documents for lead somewhere: to a table or a sentence that names what to call. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const guides = ['README.md', 'docs/guide.md', 'docs/coming-from.md', 'docs/formats.md', 'docs/python.md']
  .map(page)
  .join('\n')

test.each([
  ['embeddings', /`(?:vectorsOf|cluster|matrix)/],
  ['inertia', /`model\.inertia`/],
  ['silhouette', /`silhouette`/],
  ['inner product', /'inner-product'/],
  ['NumPy', /\.npy/],
  ['pandas', /index/],
  ['faiss', /`(?:faissBytes|readFaiss)/],
  ['partial_fit', /`model = await model\.update\(X\)`/],
  ['MiniBatchKMeans', /update/],
  ['recall@', /`recallAt/],
])('%s', (word, answer) => {
  const lines = guides.split('\n').filter((line) => line.toLowerCase().includes(word.toLowerCase()))
  expect(lines.length).toBeGreaterThan(0)
  expect(
    lines.some((line) => answer.test(line)),
    `no line with ${word} names what to call`,
  ).toBe(true)
})
