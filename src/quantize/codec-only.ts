/** Codebooks that came from elsewhere, as a quantizer. */
import type { Codec } from './codec.ts'
import { Quantizer } from './quantizer.ts'

/** A quantizer of which only its codewords and directions are known, not how it was trained. */
export function quantizerOf(codec: Codec): Quantizer {
  const { ranges, codewords, rotation } = codec
  const m = ranges.length - 1
  return new Quantizer(codec, {
    type: rotation ? 'ck' : 'pq',
    m,
    codewords,
    order: 'natural',
    rank: ranges[m],
    tolerance: 0,
    seed: 0,
    rows: codewords,
    stopped: 'iterations',
    iterations: [],
    device: { kind: 'cpu', name: 'elsewhere', reason: 'the codewords were given' },
  })
}
