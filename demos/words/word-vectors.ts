/** Text files of word vectors, as GloVe and word2vec write them: a word and its numbers on each line, between blanks. */
import { CentroidalError, type Matrix, matrix } from '../../src/index.ts'
import { MOST_BYTES, MOST_ROWS, tooLarge } from './limits.ts'

export interface WordVectors {
  readonly vectors: Matrix
  readonly names: string[]
}

/** Enough for the longest first line there is. */
const PEEK_BYTES = 1 << 16

/** Whether a .txt file holds a word and numbers on its first line, or the count and length that word2vec begins with. */
export async function looksLikeWordVectors(file: File): Promise<boolean> {
  const text = await file.slice(0, PEEK_BYTES).text()
  const [first, second = ''] = text.split('\n', 2)
  return isWordLine(first) || (isHeader(first) && isWordLine(second))
}

const cellsOf = (line: string): string[] => line.trim().split(/\s+/)

function isWordLine(line: string): boolean {
  const [, ...numbers] = cellsOf(line)
  return numbers.length >= 2 && numbers.every((cell) => Number.isFinite(Number(cell)))
}

function isHeader(line: string): boolean {
  return /^\d+ \d+\s*$/.test(line)
}

export async function readWordVectors(file: File): Promise<WordVectors> {
  const names: string[] = []
  let cols = 0
  let data = new Float32Array(1 << 16)
  let number = 0
  for await (const line of linesOf(file)) {
    number++
    if (line.trim() === '' || (number === 1 && isHeader(line))) continue
    const [name, ...cells] = cellsOf(line)
    cols ||= cells.length
    const values = cells.map(Number)
    if (cells.length !== cols || !values.every(Number.isFinite)) {
      throw new CentroidalError(
        'bad-file',
        `"${file.name}", line ${number}: a word and ${cols} numbers are expected, as on the first line; found ${JSON.stringify(line.slice(0, 40))}.`,
      )
    }
    const at = names.length * cols
    if (4 * (at + cols) > MOST_BYTES || names.length >= MOST_ROWS) {
      throw tooLarge(file.name, `has more than ${names.length.toLocaleString('en')} words of ${cols} numbers`)
    }
    if (at + cols > data.length) data = grown(data, at + cols)
    data.set(values, at)
    names.push(name)
  }
  if (names.length < 2) throw new CentroidalError('bad-file', `"${file.name}" has fewer than 2 words.`)
  return { vectors: matrix(data.slice(0, names.length * cols), names.length, cols), names }
}

function grown(data: Float32Array<ArrayBuffer>, least: number): Float32Array<ArrayBuffer> {
  const larger = new Float32Array(Math.max(2 * data.length, least))
  larger.set(data)
  return larger
}

async function* linesOf(file: File): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of file.stream()) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() as string
    yield* lines
  }
  if (rest !== '') yield rest
}
