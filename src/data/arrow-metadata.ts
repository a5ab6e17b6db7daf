/**
 * Checks the lengths in the metadata of Arrow files. The library that reads them believes every length: a damaged one
 * would keep it busy for hours. Tables and vectors are those of FlatBuffers; numbers of slots are from Arrow's schema files.
 */

/** Slots of tables, as offsets into their vtable. */
const MESSAGE = { kind: 6, header: 8, bodyLength: 10 }
const SCHEMA = { fields: 6, metadata: 8 }
const FIELD = { typeKind: 8, type: 10, children: 14, metadata: 16 }
const BATCH = { nodes: 6, buffers: 8, variadic: 12 }
const FOOTER = { schema: 6, dictionaries: 8, batches: 10 }
const DICTIONARY_DATA = 6
const UNION = 14
const [SCHEMA_KIND, DICTIONARY_KIND, BATCH_KIND] = [1, 2, 3]
const DEEPEST = 64
const MAGIC = 'ARROW1'

/** Fails where a length goes beyond the bytes it is in. */
export function checkArrowMetadata(bytes: Uint8Array): void {
  const isFile = latin1(bytes.subarray(0, 6)) === MAGIC
  if (!isFile) {
    checkMessages(bytes, 0, bytes.length)
    return
  }
  const view = viewOf(bytes)
  const end = bytes.length - 10
  if (end < 8 || latin1(bytes.subarray(-6)) !== MAGIC) throw new Error('the end of the file is missing')
  const length = view.getInt32(end, true)
  if (length <= 0 || length > end - 8) throw new Error('the footer does not fit into the file')
  checkFooter(bytes.subarray(end - length, end))
  checkMessages(bytes, 8, end - length)
}

function checkMessages(bytes: Uint8Array, start: number, end: number): void {
  const view = viewOf(bytes)
  for (let at = start; at + 4 <= end; ) {
    let length = view.getInt32(at, true)
    at += 4
    if (length === -1) {
      if (at + 4 > end) return
      length = view.getInt32(at, true)
      at += 4
    }
    if (length === 0) return
    if (length < 0 || at + length > end) throw new Error('a message goes beyond the file')
    const metadata = new Metadata(bytes.subarray(at, at + length))
    at += length + metadata.message()
  }
}

function checkFooter(bytes: Uint8Array): void {
  const metadata = new Metadata(bytes)
  const footer = metadata.table(0)
  const schema = footer(FOOTER.schema)
  if (schema) metadata.schema(schema)
  for (const slot of [FOOTER.dictionaries, FOOTER.batches]) metadata.vector(footer(slot), 24)
}

/** The position of a slot's value; 0 where it has none. */
type Table = (slot: number) => number

class Metadata {
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#view = viewOf(bytes)
  }

  /** Returns the length of what follows the message. */
  message(): number {
    const message = this.table(0)
    const [kindAt, header, lengthAt] = [message(MESSAGE.kind), message(MESSAGE.header), message(MESSAGE.bodyLength)]
    const kind = kindAt ? this.#view.getUint8(kindAt) : 0
    const body = lengthAt ? Number(this.#view.getBigInt64(lengthAt, true)) : 0
    if (!(body >= 0)) throw new Error('a message has a negative length')
    if (header && kind === SCHEMA_KIND) this.schema(header)
    if (header && kind === BATCH_KIND) this.#batch(header)
    if (header && kind === DICTIONARY_KIND) {
      const data = this.table(header)(DICTIONARY_DATA)
      if (data) this.#batch(data)
    }
    return body
  }

  schema(at: number): void {
    const schema = this.table(at)
    this.vector(schema(SCHEMA.metadata), 4)
    this.#fields(schema(SCHEMA.fields), 0)
  }

  #fields(at: number, depth: number): void {
    if (depth > DEEPEST) throw new Error('fields are nested too deeply')
    const { start, length } = this.vector(at, 4)
    for (let i = 0; i < length; i++) {
      const field = this.table(start + 4 * i)
      this.vector(field(FIELD.metadata), 4)
      const kindAt = field(FIELD.typeKind)
      const type = field(FIELD.type)
      if (type && kindAt && this.#view.getUint8(kindAt) === UNION) this.vector(this.table(type)(6), 4)
      this.#fields(field(FIELD.children), depth + 1)
    }
  }

  #batch(at: number): void {
    const batch = this.table(at)
    for (const slot of [BATCH.nodes, BATCH.buffers]) this.vector(batch(slot), 16)
    this.vector(batch(BATCH.variadic), 8)
  }

  /** The table that the offset at a position leads to. DataView refuses positions outside the bytes. */
  table(at: number): Table {
    const view = this.#view
    const start = at + view.getInt32(at, true)
    const slots = start - view.getInt32(start, true)
    const size = view.getUint16(slots, true)
    return (slot) => {
      const offset = slot < size ? view.getUint16(slots + slot, true) : 0
      return offset === 0 ? 0 : start + offset
    }
  }

  vector(at: number, stride: number): { start: number; length: number } {
    if (at === 0) return { start: 0, length: 0 }
    const base = at + this.#view.getInt32(at, true)
    const length = this.#view.getInt32(base, true)
    if (length < 0 || base + 4 + length * stride > this.#view.byteLength) {
      throw new Error('a list in the metadata goes beyond it')
    }
    return { start: base + 4, length }
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
