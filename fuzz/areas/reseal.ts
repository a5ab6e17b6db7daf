/** Checksums of a saved folder, made to fit edited files. */

/** False where the folder has no checksums of a known form. */
export function reseal(_folder: string): boolean {
  return false
}
