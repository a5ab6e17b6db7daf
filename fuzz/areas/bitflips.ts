/** Single bit flips of .npz files: the same data, or an error. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSparse, type SparseMatrix, vectorBytes } from '../../src/index.ts'
import type { Area, CaseContext } from '../area.ts'
import { attempt, requireSame } from '../judge.ts'
import { sparse } from './readers.ts'
import { storedZip } from './zip.ts'

export const bitflips: Area = {
  name: 'bitflips',
  title: 'single bit flips of .npz',
  share: 1,
  seconds: 20,
  run,
}

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  const rows = draw.between(1, 5)
  const original = sparse(draw, rows, draw.between(1, 6))
  const written = await vectorBytes('file.npz', original)
  // As numpy.savez writes it, without compression: there a flip meets nothing but the checksum.
  const bytes = draw.chance(0.5) ? storedZip(written) : Uint8Array.from(written)
  const bit = draw.below(bytes.length * 8)
  bytes[bit >> 3] ^= 1 << (bit & 7)
  const path = join(folder(), 'file.npz')
  writeFileSync(path, bytes)
  note(`bit ${bit & 7} of byte ${bit >> 3} of ${bytes.length}`)
  const tried = await attempt(() => readSparse(path), { told: path })
  if ('value' in tried) requireSame(parts(original), parts(tried.value), 'after a bit flip')
}

function parts({ rows, cols, offsets, columns, values }: SparseMatrix): Record<string, unknown> {
  return { rows, cols, offsets, columns, values }
}
