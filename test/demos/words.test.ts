/** The parts of the words and digits page that need no page. */
import { describe, expect, test } from 'vitest'
import { codeOptions, findNeighbors, learnCodes } from '../../demos/words/codes.ts'
import { bySize, membersOf, sizesOf } from '../../demos/words/members.ts'
import { memoryOf } from '../../demos/words/memory.ts'
import { parseNames } from '../../demos/words/names.ts'
import { evenRows, placesOf, principalPlane } from '../../demos/words/plane.ts'
import { unitRows } from '../../demos/words/unit-rows.ts'
import { looksLikeWordVectors, readWordVectors } from '../../demos/words/word-vectors.ts'
import { blobs, createRandom, matrix, openDevice } from '../../src/index.ts'

describe('the plane', () => {
  test('lies along the two directions in which vectors differ most', () => {
    const random = createRandom(2)
    const [first, second] = [
      [0.6, 0.8, 0, 0],
      [0, 0, 0.8, -0.6],
    ]
    const rows = Array.from({ length: 3000 }, () => {
      const [a, b] = [random.normal() * 9, random.normal() * 4]
      return first.map((value, j) => 100 + a * value + b * second[j] + random.normal() * 0.1)
    })
    const vectors = matrix(Float32Array.from(rows.flat()), 3000, 4)
    const plane = principalPlane(vectors)
    const along = (axis: Float64Array, direction: number[]): number =>
      Math.abs(axis.reduce((sum, value, j) => sum + value * direction[j], 0))
    expect(along(plane.axes[0], first)).toBeGreaterThan(0.999)
    expect(along(plane.axes[1], second)).toBeGreaterThan(0.999)
    const all = placesOf(plane, vectors)
    expect(placesOf(plane, vectors, Uint32Array.of(7))).toEqual(all.slice(14, 16))
    const spread = (axis: number): number =>
      Math.sqrt(all.filter((_, i) => i % 2 === axis).reduce((s, v) => s + v * v, 0) / 3000)
    expect(spread(0)).toBeCloseTo(9, 0)
    expect(spread(1)).toBeCloseTo(4, 0)
  })

  test('is there for vectors on a line, and for equal ones', () => {
    const line = principalPlane(matrix(Float32Array.of(0, 0, 1, 1, 2, 2, 3, 3), 4, 2))
    expect(Array.from(placesOf(line, matrix(Float32Array.of(1.5, 1.5), 1, 2)))).toEqual([0, 0])
    expect(principalPlane(matrix(new Uint8Array(12), 4, 3)).axes[0].every(Number.isFinite)).toBe(true)
  })

  test('takes rows at even distances', () => {
    expect(Array.from(evenRows(10, 4))).toEqual([0, 2, 5, 7])
    expect(Array.from(evenRows(3, 4))).toEqual([0, 1, 2])
  })
})

test('members come nearest first, clusters largest first', () => {
  const vectors = matrix(Float32Array.of(5, 0, 1, 9, 3), 5, 1)
  const centers = matrix(Float32Array.of(2, 8, 100), 3, 1)
  const labels = Uint32Array.of(1, 0, 0, 1, 0)
  expect(membersOf(vectors, centers, labels, 0)).toEqual({
    rows: Uint32Array.of(2, 4, 1),
    distances: Float64Array.of(1, 1, 2),
  })
  const sizes = sizesOf(labels, 3)
  expect(Array.from(sizes)).toEqual([3, 2, 0])
  expect(bySize(sizes)).toEqual([0, 1])
})

test('rows at length one; zeros stay', () => {
  const { data } = unitRows(matrix(Uint8Array.of(3, 4, 0, 0, 0, 9), 3, 2))
  Array.from(data).forEach((value, i) => {
    expect(value).toBeCloseTo([0.6, 0.8, 0, 0, 0, 1][i], 6)
  })
})

test('names are one a line', () => {
  expect(parseNames('a\r\nb c\n\n', 'names.txt', 3)).toEqual(['a', 'b c', ''])
  expect(() => parseNames('a\nb\n', 'names.txt', 3)).toThrow('"names.txt" has 2 lines and the vectors 3 rows')
})

describe('word vectors', () => {
  const file = (text: string): File => new File([text], 'glove.txt')

  test('have a word and its numbers on each line, with or without the header of word2vec', async () => {
    const text = 'the 0.5 -1 2e-1\nof 3 4 5\n, 6 7 8\n'
    for (const whole of [text, `3 3\n${text}`, text.replaceAll('\n', '\r\n')]) {
      expect(await looksLikeWordVectors(file(whole))).toBe(true)
      const { vectors, names } = await readWordVectors(file(whole))
      expect(names).toEqual(['the', 'of', ','])
      expect(vectors).toEqual(matrix(Float32Array.of(0.5, -1, 0.2, 3, 4, 5, 6, 7, 8), 3, 3))
    }
    expect(await looksLikeWordVectors(file('red\ngreen\n'))).toBe(false)
    expect(await looksLikeWordVectors(file('two words\nno numbers\n'))).toBe(false)
  })

  test('grow past the first piece of memory', async () => {
    const lines = Array.from(
      { length: 3000 },
      (_, i) => `w${i} ${Array.from({ length: 50 }, (_, j) => i + j).join(' ')}\n`,
    )
    const { vectors, names } = await readWordVectors(file(lines.join('')))
    expect([vectors.rows, vectors.cols, names[2999]]).toEqual([3000, 50, 'w2999'])
    expect(Array.from(vectors.data.subarray(2999 * 50, 2999 * 50 + 2))).toEqual([2999, 3000])
  })

  test('of another length are refused by line', async () => {
    await expect(readWordVectors(file('a 1 2\nb 1\n'))).rejects.toThrow('"glove.txt", line 2: a word and 2 numbers')
    await expect(readWordVectors(file('a 1 2\nb 1 x\n'))).rejects.toThrow('"glove.txt", line 2')
  })
})

describe('codes', () => {
  const { vectors } = blobs({ rows: 600, cols: 16, clusters: 12, spread: 0.4, seed: 4 })

  test('find most neighbours in a fraction of the memory', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    try {
      const phases = new Set<string>()
      const context = { device, signal: new AbortController().signal, progress: (phase: string) => phases.add(phase) }
      const learned = await learnCodes(vectors, { type: 'pq', m: 8, seed: 1 }, context)
      expect(memoryOf(vectors, learned)).toEqual({ vectors: 600 * 64, codes: 600 * 8, books: 8 * 256 * 4 * 4 })
      expect(learned.recall.queries).toBe(200)
      expect(learned.recall.first).toBeGreaterThan(0.9)
      expect(learned.recall.ten).toBeGreaterThan(0.5)
      expect(learned.recall.ten).toBeLessThan(1)
      expect(phases).toContain('learning codes, round 1')

      const { exact, byCodes } = await findNeighbors(
        vectors,
        structuredClone(learned.quantizer),
        learned.codes,
        Uint32Array.of(5, 17),
        device,
      )
      expect(exact.rows).toHaveLength(20)
      for (const [i, self] of [5, 17].entries()) {
        // Against all distances, by the textbook.
        const all = Array.from({ length: 600 }, (_, row) => {
          let sum = 0
          for (let j = 0; j < 16; j++) sum += (vectors.data[row * 16 + j] - vectors.data[self * 16 + j]) ** 2
          return [row, Math.sqrt(sum)]
        })
        const truth = all.filter(([row]) => row !== self).sort(([, a], [, b]) => a - b)
        expect(Array.from(exact.rows.subarray(10 * i, 10 * i + 10))).toEqual(truth.slice(0, 10).map(([row]) => row))
        expect(exact.distances[10 * i]).toBeCloseTo(truth[0][1], 4)
        expect(byCodes.rows.subarray(10 * i, 10 * i + 10)).not.toContain(self)
      }
    } finally {
      await device.close()
    }
  })

  test('are asked for within what the vectors allow', () => {
    expect(codeOptions({ type: 'pq', m: 8, seed: 1 }, { rows: 100, cols: 3 })).toMatchObject({ m: 3, codewords: 100 })
    expect(codeOptions({ type: 'ck', m: 8, seed: 1 }, { rows: 9000, cols: 784 })).toMatchObject({ m: 8, rank: 64 })
    expect(codeOptions({ type: 'pq', m: 8, seed: 1 }, { rows: 9000, cols: 784 })).not.toHaveProperty('rank')
  })
})
