/** The last part of a save, also done for one that was stopped there: files go from the staging folder to their own names. */
import type { Disk } from '../platform/contract.ts'
import { innerFolderOf, isFileName, type Listing, type SavedFile } from './sealed-json.ts'

/**
 * Names of files removed once the new save is in place; kept in the staging folder for the process that completes the save.
 */
export const OBSOLETE = 'obsolete.json'

/** Moves the files of a save to their own names. What was moved already is not there any more. */
export async function complete(disk: Disk, folder: string, { staging, files }: Listing): Promise<void> {
  const path = `${folder}/${staging}`
  const inner = new Set(files.flatMap(({ name }) => innerFolderOf(name) ?? []))
  for (const name of inner) {
    await disk.mkdir(`${folder}/${name}`).catch((error) => {
      if ((error as { code?: string } | undefined)?.code !== 'EEXIST') throw error
    })
  }
  for (const { name } of files) await disk.rename(`${path}/${name}`, `${folder}/${name}`).catch(ifMissing)
  await removeObsolete(disk, folder, path, files)
  for (const name of inner) await disk.syncFolder(`${folder}/${name}`)
  await disk.syncFolder(folder)
  await removeStaging(disk, path)
}

async function removeObsolete(disk: Disk, folder: string, staging: string, files: readonly SavedFile[]): Promise<void> {
  const bytes = await disk.read(`${staging}/${OBSOLETE}`).catch(ifMissing)
  if (bytes === undefined) return
  const names: unknown = JSON.parse(new TextDecoder().decode(bytes))
  if (!Array.isArray(names)) return
  const obsolete = names.filter(isFileName).filter((name) => !files.some((file) => file.name === name))
  for (const name of obsolete) {
    const inner = innerFolderOf(name)
    const real = inner === undefined || (await disk.lstat(`${folder}/${inner}`).catch(ifMissing))?.isDirectory()
    if (real) await disk.unlink(`${folder}/${name}`).catch(ifMissing)
  }
  for (const inner of new Set(obsolete.flatMap((name) => innerFolderOf(name) ?? []))) {
    // A folder that holds something else stays.
    await disk.rmdir(`${folder}/${inner}`).catch(() => {})
  }
}

/** At most one folder deep, as all staging folders are. */
export async function removeStaging(disk: Disk, path: string): Promise<void> {
  for (const name of (await disk.readdir(path).catch(ifMissing)) ?? []) {
    const within = `${path}/${name}`
    if ((await disk.lstat(within)).isDirectory()) {
      for (const file of await disk.readdir(within)) await disk.unlink(`${within}/${file}`)
      await disk.rmdir(within)
    } else await disk.unlink(within)
  }
  await disk.rmdir(path).catch(ifMissing)
}

export function ifMissing(error: unknown): undefined {
  const code = (error as { code?: string } | undefined)?.code
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}
