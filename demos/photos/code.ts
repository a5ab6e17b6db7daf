/** The lines that learn the words and search as the page does. */
import { literal } from '../shell/code-panel.ts'
import { photoOptions, TOP } from './options.ts'

export function photoCode(k: number, seed: number): string {
  return `import { buildIndex, cluster } from 'centroidal'

// descriptors: a matrix with a row for each keypoint; views: the number of the picture of each row
const vocabulary = await cluster(descriptors, ${literal(photoOptions(k, seed))})
const index = await buildIndex(vocabulary, descriptors, views)
const { images, scores } = await index.search(descriptorsOfAPart, { top: ${TOP} })`
}
