/** Packages that only some users need: loaded when they are asked for, with a sentence where they are missing. */
import { CentroidalError } from '../core/errors.ts'

/** `purpose` says what it is needed for. */
export async function optionalPackage<T>(name: string, purpose: string): Promise<T> {
  try {
    // Bundlers do not follow a name that is not written out, so pages are built without the package.
    return (await import(/* @vite-ignore */ name)) as T
  } catch (cause) {
    throw new CentroidalError('bad-option', `${purpose} requires the package ${name}: run "npm install ${name}".`, {
      cause,
    })
  }
}
