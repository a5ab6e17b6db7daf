/** What earlier saves left in a folder: a save to complete, files to remove. Only files that saves wrote are touched. */
import type { Disk } from '../platform/contract.ts'
import { complete, ifMissing, removeStaging } from './folder-complete.ts'
import { LOCK_NAME } from './folder-lock.ts'
import type { FolderContents, SaveInPlace } from './folder-save.ts'
import {
  isSealed,
  JSON_FILES,
  type JsonFile,
  type Listing,
  listingOf,
  parsedJson,
  STAGING_NAME,
  sealOf,
} from './sealed-json.ts'

/** Arrays of folders of version 1, which did not list their files. */
const FIRST_VERSION: Readonly<Record<string, readonly string[]>> = {
  'centroidal clustering': ['centers', 'labels', 'frame-centers', 'tree', 'weights', 'sigmas'],
  'centroidal quantizer': ['books', 'rotation', 'offset'],
  'centroidal code index': ['codes', 'ids'],
  'centroidal inverted file': ['codes', 'ids', 'lists'],
  'centroidal image index': ['ids', 'offsets', 'words', 'counts'],
}

/** Temporary names of version 1. */
const PARTIAL = new RegExp(
  `^(?:${[...new Set(Object.values(FIRST_VERSION).flat())].map((name) => `${name}\\.npy`).join('|')}|(?:model|index)\\.json)\\.[0-9a-f]{8}\\.partial$`,
)

/** Completes the save that is in place, and removes what other saves left. The lock must be held. */
export async function tidyUp(disk: Disk, folder: string): Promise<void> {
  const names = new Set(await disk.readdir(folder))
  for (const json of JSON_FILES) {
    const listing = names.has(json) ? await savedListing(disk, `${folder}/${json}`) : undefined
    if (listing === undefined || !names.has(listing.staging)) continue
    if ((await disk.lstat(`${folder}/${listing.staging}`)).isDirectory()) await complete(disk, folder, listing)
    names.delete(listing.staging)
  }
  for (const name of names) {
    const path = `${folder}/${name}`
    if (PARTIAL.test(name) || name.startsWith(`${LOCK_NAME}-`)) await disk.unlink(path).catch(ifMissing)
    else if (STAGING_NAME.test(name) && (await disk.lstat(path)).isDirectory()) await removeStaging(disk, path)
  }
}

async function savedListing(disk: Disk, path: string): Promise<Listing | undefined> {
  const bytes = await jsonBytes(disk, path)
  return bytes && isSealed(bytes) ? listingOf(parsedJson(bytes) ?? {}) : undefined
}

/** Anything but a file, a pipe for instance, is not opened. */
async function jsonBytes(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  const found = await disk.lstat(path).catch(ifMissing)
  return found?.isFile() ? disk.read(path) : undefined
}

/** The save in a folder after cleaning up; undefined if there is none, or if one of its files has changed. */
export async function saveInPlace(disk: Disk, folder: string, json: JsonFile): Promise<SaveInPlace | undefined> {
  const bytes = await jsonBytes(disk, `${folder}/${json}`)
  const listing = bytes && isSealed(bytes) ? listingOf(parsedJson(bytes) ?? {}) : undefined
  if (bytes === undefined || listing === undefined) return undefined
  for (const { name, bytes: size } of listing.files) {
    const found = await disk.lstat(`${folder}/${name}`).catch(ifMissing)
    if (!found?.isFile() || found.size !== size) return undefined
  }
  return { seal: sealOf(bytes), files: listing.files }
}

/** Files of the save in place that the new one does not have. */
export async function previousFiles(disk: Disk, folder: string, contents: FolderContents): Promise<string[]> {
  const bytes = await jsonBytes(disk, `${folder}/${contents.json}`)
  if (bytes === undefined) return []
  const kept = new Set([...Object.keys(contents.files), ...(contents.kept ?? []).map(({ name }) => name)])
  for (const [inner, { json, files }] of Object.entries(contents.folders ?? {})) {
    for (const name of [json, ...Object.keys(files)]) kept.add(`${inner}/${name}`)
  }
  // An index of images may share the folder with a model.
  for (const other of JSON_FILES.filter((json) => json !== contents.json)) {
    for (const { name } of (await savedListing(disk, `${folder}/${other}`))?.files ?? []) kept.add(name)
  }
  const listing = isSealed(bytes) ? listingOf(parsedJson(bytes) ?? {}) : undefined
  const names = listing?.files.map(({ name }) => name) ?? (await firstVersionFiles(disk, folder, bytes))
  return names.filter((name) => !kept.has(name))
}

async function firstVersionFiles(disk: Disk, folder: string, bytes: Uint8Array): Promise<string[]> {
  const { format, version } = parsedJson(bytes) ?? {}
  if (version !== 1 || typeof format !== 'string' || !Object.hasOwn(FIRST_VERSION, format)) return []
  const names = FIRST_VERSION[format].map((name) => `${name}.npy`)
  const notes = await jsonBytes(disk, `${folder}/run.json`)
  const run = notes !== undefined && parsedJson(notes)?.format === 'centroidal run'
  return run ? [...names, 'run.json', 'report.html'] : names
}
