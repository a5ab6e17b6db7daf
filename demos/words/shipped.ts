/** The data that come with the page: words and handwritten digits. */
import { loadDigits } from '../data/digits.ts'
import type { Engine } from '../engine/engine.ts'
import { type Dataset, dataset } from './dataset.ts'

export interface Shipped {
  readonly data: Dataset
  /** Clusters that suit them. */
  readonly k: number
  /** Which codes suit them, and why. */
  readonly note: string
}

const WORDS_NOTE =
  'On these words ck has the lower error at the same size: the numbers of a word vector have no order, so that a learned rotation finds better subspaces than neighbouring columns.'

const DIGITS_NOTE =
  'On these digits pq finds more neighbours than ck: neighbouring columns are neighbouring pixels, so that its subspaces are bands of the picture already. ck turns only the 64 principal directions here and has 10 rounds for it.'

export async function shippedWords(engine: Engine): Promise<Shipped> {
  const root = new URL('../', location.href).href
  const { vectors, names, places, bytes, codeBytes } = await engine.start('shipped-words', { root }).result
  const size = `${(bytes / 1e6).toFixed(2)} MB with ${codeBytes} bytes of pq codes a word`
  return {
    data: dataset(`English words (GloVe, shipped as ${size})`, vectors, { names, places }),
    k: 250,
    note: WORDS_NOTE,
  }
}

export async function shippedDigits(): Promise<Shipped> {
  const { images, classes } = await loadDigits()
  return { data: dataset('Handwritten digits', images, { classes }), k: 40, note: DIGITS_NOTE }
}
