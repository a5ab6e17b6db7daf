import { describe, expect, test } from 'vitest'
import { rowsByLeaf } from '../../src/clustering/candidates/leaf-order.ts'
import { createRandom, shuffle } from '../../src/core/random.ts'
import { NO_LABEL } from '../../src/kernels/assign-lists.ts'

describe('rows by leaf', () => {
  test('follow the leaves, in rising order within a centre, those without a centre last', () => {
    const labels = Uint32Array.of(2, NO_LABEL, 0, 1, 2, 7)
    expect(Array.from(rowsByLeaf(labels, Uint32Array.of(1, 2, 0)))).toEqual([3, 0, 4, 2, 1, 5])
  })

  test.each([
    [0, 1],
    [1, 1],
    [300, 7],
    [50, 200],
  ])('%i rows, %i centres: every row once, places never fall', (rows, k) => {
    const random = createRandom(rows + k)
    const leaves = Uint32Array.from({ length: k }, (_, i) => i)
    shuffle(random, leaves)
    const labels = Uint32Array.from({ length: rows }, () => random.below(k))
    const order = rowsByLeaf(labels, leaves)
    expect(Array.from(order).sort((a, b) => a - b)).toEqual(Array.from({ length: rows }, (_, row) => row))
    const places = Array.from(order, (row) => leaves.indexOf(labels[row]))
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })
})
