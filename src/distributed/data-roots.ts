/**
 * Where files of shards may be opened: folders and places in S3. A manifest, or a message from a store, names files; they
 * are opened below these roots and nowhere else, also where a symbolic link leads out.
 */
import { platform } from '#platform'
import { CentroidalError } from '../core/errors.ts'
import type { VectorSource } from '../core/matrix.ts'
import { openVectorBytes } from '../data/read.ts'
import { createObject, isObjectAddress, openObject } from './s3.ts'

export interface DataRoots {
  /** Dense vectors of a file; the caller closes them. */
  open(file: string): Promise<VectorSource>
  /** A path or address next to a file, to write a result to. */
  beside(file: string, suffix: string): Promise<string>
  write(location: string, bytes: Uint8Array): Promise<void>
  close(): Promise<void>
}

/** With `anyObject`, objects outside the roots may be read: the caller named them. */
export async function openRoots(given: readonly string[], anyObject = false): Promise<DataRoots> {
  const objects = given.filter(isObjectAddress).map((root) => (root.endsWith('/') ? root : `${root}/`))
  const folders = await Promise.all(given.filter((root) => !isObjectAddress(root)).map(realFolder))
  /** The first root in which the file is. */
  const locate = async (file: string): Promise<string> => {
    if (isObjectAddress(file)) {
      if (anyObject || objects.some((root) => file.startsWith(root))) return file
      throw outside(file, given)
    }
    for (const folder of folders) {
      const found = await realFile(folder, file)
      if (found !== undefined) return found
    }
    if (objects.length > 0) return `${objects[0]}${file}`
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(file)} is not in ${given.map((root) => JSON.stringify(root)).join(' or ')}: give the folder that contains the shards.`,
    )
  }
  return {
    async open(file) {
      const location = await locate(file)
      const bytes = isObjectAddress(location) ? await openObject(location) : await platform.openBytes(location)
      try {
        return await openVectorBytes(bytes)
      } catch (error) {
        await bytes.close()
        throw error
      }
    },
    beside: async (file, suffix) => `${(await locate(file)).replace(/\.[a-z0-9]+$/i, '')}${suffix}`,
    async write(location, bytes) {
      if (isObjectAddress(location)) return createObject(location, bytes)
      const sink = await platform.createBytes(location)
      try {
        await sink.write(bytes)
        await sink.close()
      } catch (error) {
        await sink.abort()
        throw error
      }
    },
    async close() {},
  }
}

async function realFolder(path: string): Promise<string> {
  const { disk } = platform
  if (disk === undefined)
    throw new CentroidalError('bad-file', 'Opening folders of shards is not possible in a page: use Node.')
  try {
    const folder = await disk.realpath(path)
    if ((await disk.lstat(folder)).isDirectory()) return folder
  } catch (cause) {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(path)} is not a folder: give the folder that contains the shards.`,
      {
        cause,
      },
    )
  }
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(path)} is not a folder: give the folder that contains the shards.`,
  )
}

/** Undefined if there is no such file. */
async function realFile(folder: string, file: string): Promise<string | undefined> {
  const { disk } = platform
  if (disk === undefined) return undefined
  const path = disk.within(folder, file)
  let real: string
  try {
    real = await disk.realpath(path)
  } catch {
    return undefined
  }
  const inside = disk.relative(folder, real)
  if (inside === '' || inside === '..' || inside.startsWith('../') || /^([a-z]:|\/)/i.test(inside)) {
    throw outside(file, [folder])
  }
  return real
}

function outside(file: string, roots: readonly string[]): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(file)} is outside ${roots.map((root) => JSON.stringify(root)).join(' and ')}, where shards may be read: move the shards there, or allow their folder.`,
  )
}
