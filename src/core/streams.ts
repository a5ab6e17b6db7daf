/**
 * Random numbers by name: each place that draws has a stream of its own, so that a draw in one place changes no other, and
 * a resumed run, whose streams bear the number of the round, draws what the uninterrupted one does.
 */
import { checksumOf } from './checksum.ts'
import { generator, type Random } from './random.ts'

/** All streams, with the numbers that belong to their names. */
export interface Streams {
  /** The start of a clustering. */
  seeding: [restart: number]
  /** The sample that a clustering of all points begins from. */
  'sample start': [restart: number]
  /** Partition trees over the points. Restarts share them. */
  trees: [tree: number]
  /** The index over the centres. */
  search: [round: number]
  /** Points on which the effort of a search is tuned. */
  tuning: []
  /** Points that are assigned together, if they are compared with every centre. */
  groups: [round: number, part: number]
  /** The order in which points move. */
  moves: [round: number, part: number]
  /** The order in which points pull centres. */
  steps: [round: number]
  relocation: [round: number]
  canopies: []
  /** Candidates that a caller chooses. */
  given: [round: number, first: number]
  /** Clusters that are split to begin a clustering with more of them. */
  extension: [k: number]
  /** Points whose spread is taken as that of the data. */
  spread: []
  /** Points whose spread about their centres is taken. */
  'spread within': []
  /** Components that are split in two. */
  components: []
  /** Runs that tell how certain the number of clusters is. */
  certainty: []
  /** The first directions of a quantizer. */
  directions: []
  /** Rows that codewords come from. */
  samples: []
  /** The first codewords. */
  codewords: []
  /** Training vectors of a quantizer, from shards. */
  'sample of shards': []
  /** Codewords in place of those without points. */
  refill: []
}

/**
 * The stream of a name and its numbers. Its state is a 128-bit hash of seed, name and numbers: no arithmetic with seeds or
 * rounds leads from one stream to another.
 */
export function stream<Name extends keyof Streams>(seed: number, name: Name, ...numbers: Streams[Name]): Random {
  return hashed([seed, name, ...numbers].join('/'))
}

/** A seed from the stream, for work that takes one. */
export function streamSeed<Name extends keyof Streams>(seed: number, name: Name, ...numbers: Streams[Name]): number {
  return stream(seed, name, ...numbers).uniform() * 2 ** 53
}

function hashed(text: string): Random {
  const digits = checksumOf(new TextEncoder().encode(text))
  const word = (at: number): number => Number.parseInt(digits.slice(8 * at, 8 * at + 8), 16)
  return generator([word(0), word(1), word(2), word(3)], (number) => hashed(`${text}:${number}`))
}
