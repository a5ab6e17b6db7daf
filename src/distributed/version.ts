/** The version of this package: coordinator and workers must have the same. */
import packageFile from '../../package.json' with { type: 'json' }

export const VERSION: string = packageFile.version
