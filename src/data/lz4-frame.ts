/** The frame format of LZ4, around its blocks: Arrow compresses each buffer as one frame. */

const MAGIC = 0x184d2204
/** A block of this size or more is stored as it is. */
const STORED_FLAG = 0x80000000
const BLOCK_SIZES = [1 << 16, 1 << 18, 1 << 20, 1 << 22]

/** `block` decompresses one block to at most so many bytes. */
export function decompressLz4Frame(
  frame: Uint8Array,
  block: (input: Uint8Array, outputLength: number) => Uint8Array,
): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  if (frame.length < 7 || view.getUint32(0, true) !== MAGIC) throw new Error('not an LZ4 frame')
  const flags = frame[4]
  const linked = (flags & 0x20) === 0
  const [blockSum, hasSize, contentSum] = [flags & 0x10, flags & 0x08, flags & 0x04]
  const most = BLOCK_SIZES[((frame[5] >> 4) & 7) - 4]
  if (most === undefined) throw new Error('an LZ4 frame of an unknown block size')
  let at = 6 + (hasSize ? 8 : 0) + (flags & 0x01 ? 4 : 0) + 1
  const pieces: Uint8Array[] = []
  for (let word = view.getUint32(at, true); word !== 0; word = view.getUint32(at, true)) {
    const stored = word >= STORED_FLAG
    const size = stored ? word - STORED_FLAG : word
    if (at + 4 + size > frame.length) throw new Error('an LZ4 block goes beyond its frame')
    const input = frame.subarray(at + 4, at + 4 + size)
    // Blocks that refer to earlier ones cannot be decompressed one by one.
    if (linked && pieces.length > 0) throw new Error('LZ4 blocks that depend on each other are not supported')
    pieces.push(stored ? input : block(input, decodedLength(input, most)))
    at += 4 + size + (blockSum ? 4 : 0)
  }
  if (at + 4 + (contentSum ? 4 : 0) > frame.length) throw new Error('an LZ4 frame ends early')
  const out = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let filled = 0
  for (const piece of pieces) {
    out.set(piece, filled)
    filled += piece.length
  }
  return out
}

/** The length of a block when decompressed, which the frame does not say: the sum of its literals and matches. */
function decodedLength(input: Uint8Array, most: number): number {
  let total = 0
  for (let at = 0; at < input.length; ) {
    const token = input[at++]
    let literals = token >> 4
    if (literals === 15) {
      let more = 255
      while (more === 255 && at < input.length) {
        more = input[at++]
        literals += more
      }
    }
    total += literals
    at += literals
    if (at >= input.length) break
    at += 2
    let match = (token & 15) + 4
    if ((token & 15) === 15) {
      let more = 255
      while (more === 255 && at < input.length) {
        more = input[at++]
        match += more
      }
    }
    total += match
  }
  if (total > most) throw new Error('an LZ4 block is longer than its frame allows')
  return total
}
