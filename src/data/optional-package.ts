/** Packages that only some formats and stores need: installed by those who use them, loaded when they are needed. */
import { platform } from '#platform'
import { CentroidalError } from '../core/errors.ts'

/** `packages` are those to install; `module` is what is imported of them. */
export async function optionalPackage<Module>(module: string, what: string, packages: string): Promise<Module> {
  try {
    return (await platform.importPackage(module)) as Module
  } catch (cause) {
    const cure =
      platform.name === 'browser'
        ? 'pages cannot read it; convert it to .npy first, with centroidal convert.'
        : `install what it needs with npm install ${packages}.`
    throw new CentroidalError('bad-file', `${what} needs the package ${module.split('/node')[0]}: ${cure}`, { cause })
  }
}

/** What a package threw about a file, as an error about the file. */
export async function readBy<T>(name: string, format: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof CentroidalError) throw error
    const reason = String((error as Error)?.message ?? error)
      .split('\n')[0]
      .slice(0, 200)
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(name)} cannot be read as ${format} (${JSON.stringify(reason)}): it is truncated, damaged, or in another format. Copy or save it again.`,
      { cause: error },
    )
  }
}
