/**
 * A disk in memory whose operations can fail or be the last before a crash. It knows what is synced: after a power cut
 * only that is left. Put in place of src/platform/disk.ts by `useDisk`.
 */
import { dirname, normalize } from 'node:path'
import { disk } from '../../src/platform/disk.ts'

interface File {
  readonly kind: 'file'
  data: Uint8Array
  synced: Uint8Array
  readonly mode: number
  mtimeMs: number
}

interface Folder {
  readonly kind: 'folder'
  names: Map<string, Node>
  synced: Map<string, Node>
}

type Node = File | Folder

/** What an operation that changes something is about to do. */
export type Operation = 'create' | 'write' | 'sync' | 'mkdir' | 'rmdir' | 'rename' | 'unlink' | 'syncFolder'

/**
 * - `kill`: the process ends; all it did stays.
 * - `power`: what was not synced is lost, names too.
 * - `data`: names stay, but contents that were not synced are lost, as journals of names allow.
 */
export type Crash = 'kill' | 'power' | 'data'

export class MemoryDisk {
  #root: Folder = folder()
  /** Called before every operation that changes something; throws to make it fail. */
  before: (operation: Operation, path: string) => void = () => {}

  /** The operations Node has, on this disk. */
  readonly operations: Partial<typeof disk> = {
    parentOf: dirname,
    open: (async (path: string, flags: string | number, mode?: number) =>
      flags === 'wx' ? this.#create(path, mode) : this.#handle(path, this.#file(path))) as typeof disk.open,
    lstat: (async (path: string) => stats(this.#node(path))) as typeof disk.lstat,
    stat: (async (path: string) => stats(this.#node(path))) as typeof disk.stat,
    realpath: async (path) => path,
    read: async (path) => this.#file(path).data.slice(),
    readdir: async (path) => [...this.#folder(path).names.keys()],
    mkdir: async (path) => {
      this.before('mkdir', path)
      const { names, name } = this.#place(path)
      if (names.has(name)) throw failed('EEXIST')
      names.set(name, folder())
    },
    rmdir: async (path) => {
      this.before('rmdir', path)
      if (this.#folder(path).names.size > 0) throw failed('ENOTEMPTY')
      const { names, name } = this.#place(path)
      names.delete(name)
    },
    rename: async (from, to) => {
      this.before('rename', from)
      const node = this.#node(from)
      const [source, target] = [this.#place(from), this.#place(to)]
      source.names.delete(source.name)
      target.names.set(target.name, node)
    },
    unlink: async (path) => {
      this.before('unlink', path)
      this.#file(path)
      const { names, name } = this.#place(path)
      names.delete(name)
    },
    requireWritable: async (path) => {
      this.#node(path)
    },
    syncFolder: async (path) => {
      this.before('syncFolder', path)
      const found = this.#folder(path)
      found.synced = new Map(found.names)
    },
    touch: async (path) => {
      this.#file(path).mtimeMs = Date.now()
    },
  }

  crash(how: Crash): void {
    if (how !== 'kill') forget(this.#root, how)
  }

  /** All files below a folder, and folders that are empty. */
  list(path: string): string[] {
    const found = this.#find(path)
    return found?.kind === 'folder' ? [...below(found, '')].sort() : []
  }

  #create(path: string, mode = 0o666): object {
    this.before('create', path)
    const { names, name } = this.#place(path)
    if (names.has(name)) throw failed('EEXIST')
    const empty = new Uint8Array(0)
    const file: File = { kind: 'file', data: empty, synced: empty, mode, mtimeMs: Date.now() }
    names.set(name, file)
    return this.#handle(path, file)
  }

  #handle(path: string, file: File): object {
    return {
      stat: async () => ({ ...stats(file), size: file.data.length }),
      read: async (out: Uint8Array, offset: number, length: number, position: number) => {
        const bytes = file.data.subarray(position, position + length)
        out.set(bytes, offset)
        return { bytesRead: bytes.length }
      },
      write: async (bytes: Uint8Array, offset: number, length: number) => {
        this.before('write', path)
        const data = new Uint8Array(file.data.length + length)
        data.set(file.data)
        data.set(bytes.subarray(offset, offset + length), file.data.length)
        file.data = data
        return { bytesWritten: length }
      },
      sync: async () => {
        this.before('sync', path)
        file.synced = file.data
      },
      close: async () => {},
    }
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#root
    for (const name of normalize(path)
      .split('/')
      .filter((part) => part !== '' && part !== '.')) {
      node = node?.kind === 'folder' ? node.names.get(name) : undefined
    }
    return node
  }

  #node(path: string): Node {
    const found = this.#find(path)
    if (found === undefined) throw failed('ENOENT')
    return found
  }

  #file(path: string): File {
    const found = this.#node(path)
    if (found.kind !== 'file') throw failed('EISDIR')
    return found
  }

  #folder(path: string): Folder {
    const found = this.#node(path)
    if (found.kind !== 'folder') throw failed('ENOTDIR')
    return found
  }

  #place(path: string): { names: Map<string, Node>; name: string } {
    return { names: this.#folder(dirname(path)).names, name: path.slice(path.lastIndexOf('/') + 1) }
  }
}

/** Runs `work` on another disk. */
export async function useDisk<T>(other: MemoryDisk, work: () => Promise<T>): Promise<T> {
  const real = { ...disk }
  Object.assign(disk, other.operations)
  try {
    return await work()
  } finally {
    Object.assign(disk, real)
  }
}

function folder(): Folder {
  return { kind: 'folder', names: new Map(), synced: new Map() }
}

function forget(node: Node, how: 'power' | 'data'): void {
  if (node.kind === 'file') {
    node.data = node.synced
    return
  }
  if (how === 'power') node.names = new Map(node.synced)
  for (const inner of node.names.values()) forget(inner, how)
}

function* below(found: Folder, path: string): Generator<string> {
  for (const [name, node] of found.names) {
    if (node.kind === 'folder' && node.names.size > 0) yield* below(node, `${path}${name}/`)
    else yield `${path}${name}${node.kind === 'folder' ? '/' : ''}`
  }
}

function stats(node: Node): object {
  const mode = node.kind === 'file' ? node.mode : 0o777
  const mtimeMs = node.kind === 'file' ? node.mtimeMs : 0
  return { mode, mtimeMs, isFile: () => node.kind === 'file', isDirectory: () => node.kind === 'folder' }
}

export function failed(code: string): Error {
  return Object.assign(new Error(`${code}: made to fail`), { code })
}
