/** Moves of a batch that threads share: each waits for its turn at both of its clusters. */
import { describe, expect, test } from 'vitest'
import { expectSame, expectSameBits } from '../tolerance.ts'
import { DEVICES_WITH_CUT_TILES, onDevices } from './devices.ts'
import { runMoves } from './move-cases.ts'
import { type MoveShape, makeMoves } from './moves.ts'

const KINDS: readonly Partial<MoveShape>[] = [
  { flavour: 'unit' },
  { flavour: 'bytes' },
  { flavour: 'unit', weighted: true },
  { flavour: 'unit', unit: true, weighted: true },
]

describe('moves that threads share', () => {
  onDevices(
    DEVICES_WITH_CUT_TILES.filter(({ name }) => name.startsWith('cpu')),
    (opened) => {
      // Few clusters make moves wait for each other; many make them touch each cluster once.
      test.each([
        ...KINDS.map((kind) => ({ n: 300, k: 5, d: 19, seed: 3, ...kind })),
        { flavour: 'bytes' as const, n: 400, k: 150, d: 128, seed: 4 },
        { flavour: 'unit' as const, n: 400, k: 2, d: 3, seed: 5 },
      ] as MoveShape[])(
        'have the bits of applying them in order: $flavour, unit $unit, weighted $weighted, k = $k',
        async (shape) => {
          const given = makeMoves(shape)
          for (const size of [given.order.length, 11]) {
            const inOrder = await runMoves(opened, given, size)
            const shared = await runMoves(opened, given, size, undefined, true)
            expectSame(shared.labels, inOrder.labels)
            expectSame(shared.next, inOrder.next)
            expectSameBits(shared.centers, inOrder.centers)
            expectSameBits(shared.masses, inOrder.masses)
            expect(inOrder.labels).not.toEqual(given.labels)
          }
        },
      )
    },
  )
})
