/** The vectors that the scores of a sweep are about: as they came, or at length one where they are clustered with cosine. */
import { readWide, sparseSource, type VectorSource } from '../../core/matrix.ts'
import { intoFrame } from '../../vectors/frame.ts'
import type { PointStore } from '../../vectors/points.ts'
import { sparseIntoFrame } from '../../vectors/sparse-points.ts'

export function scoredSource({ source, frame }: Pick<PointStore, 'source' | 'frame'>): VectorSource {
  if (!frame.unit) return source
  const { rows, cols, name, sparse } = source
  if (sparse) return sparseSource({ ...sparse, values: sparseIntoFrame(sparse, 0, rows, frame) }, name)
  const read = async (start: number, end: number) => intoFrame(await readWide(source, start, end), cols, frame)
  return { rows, cols, name, type: 'f32', read }
}
