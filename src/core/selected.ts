/** Vectors inside of objects. */
import { callback } from './arguments.ts'
import { badArgument } from './errors.ts'
import { toSource, type Vector, type VectorSource } from './matrix.ts'

/**
 * The vectors of objects, such as the embeddings of documents: `vectorOf` picks the vector of an object, and `nameOf` its
 * name, which summaries of clusters show.
 *
 * @example
 * ```ts
 * import { cluster, vectorsOf } from 'centroidal'
 *
 * const documents = [
 *   { title: 'cats', embedding: [1, 0.1] },
 *   { title: 'dogs', embedding: [0.9, 0.2] },
 *   { title: 'stars', embedding: [0, 1] },
 * ]
 * const vectors = vectorsOf(documents, (document) => document.embedding, (document) => document.title)
 * const model = await cluster(vectors, { k: 2, metric: 'cosine' })
 * const summaries = await model.summaries(vectors)
 * summaries[model.labels[2]!]?.members[0]?.name // => 'stars'
 * ```
 */
export function vectorsOf<T>(
  objects: readonly T[],
  vectorOf: (object: T, index: number) => Vector,
  nameOf?: (object: T, index: number) => string,
): VectorSource {
  if (!Array.isArray(objects)) throw badArgument('the list of objects', objects, 'give an array.')
  const pick = callback<typeof vectorOf>(vectorOf, 'the function that picks a vector')
  const source = toSource(objects.map(pick), 'the vectors of the objects')
  if (nameOf === undefined) return source
  const named = callback<typeof nameOf>(nameOf, 'the function that picks a name')
  const names = objects.map((object, index) => String(named(object, index)))
  source.names = async () => names
  return source
}
