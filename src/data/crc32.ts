/** CRC-32 as zip files use it. Node has one in zlib and pages have none, so it is computed here for both. */

const POLYNOMIAL = 0xedb88320

/** Table t gives the effect of a byte that is followed by t zero bytes, so that four bytes take one step. */
const TABLES = makeTables()

function makeTables(): readonly Uint32Array[] {
  const tables = [0, 1, 2, 3].map(() => new Uint32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    tables[0][byte] = crc
  }
  for (let t = 1; t < 4; t++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = tables[t - 1][byte]
      tables[t][byte] = (before >>> 8) ^ tables[0][before & 0xff]
    }
  }
  return tables
}

/** The CRC-32 of bytes that follow others with the CRC-32 `before`. */
export function crc32(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3] = TABLES
  let crc = ~before
  let i = 0
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24)
    crc = t3[crc & 0xff] ^ t2[(crc >>> 8) & 0xff] ^ t1[(crc >>> 16) & 0xff] ^ t0[crc >>> 24]
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ t0[(crc ^ bytes[i]) & 0xff]
  return ~crc >>> 0
}
