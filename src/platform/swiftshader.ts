/**
 * SwiftShader, a Vulkan driver in software, as the npm package `@sparticuz/chromium` carries it (x86_64 Linux). It is
 * unpacked once to the user's cache folder and checked each time before it is loaded; see private-folder.ts.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { digestOf, type PackedFile, privateFolder } from './private-folder.ts'
import { readTar } from './tar.ts'

const SOFTWARE_FILES = ['libvulkan.so.1', 'libvk_swiftshader.so', 'vk_swiftshader_icd.json']

/** Of @sparticuz/chromium 147.0.0: the archive, and the digest of the files above in it. */
const KNOWN_ARCHIVE = {
  sha256: 'f957ea867313f9815b71dc2ed30cce301e01db4f3973fbdb31ffa5391b0ec45a',
  digest: '8ac46c852b07afe7c9b44d2c91c512237cf899707f55420d5c6eb6030ed5cc35',
}

/** The folder of the driver's files, which only this user can write to. */
export function unpackSoftwareDriver(): { folder?: string; whyNot?: string } {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { whyNot: `there is no software driver for ${process.platform} ${process.arch}` }
  }
  const archive = findSoftwareArchive()
  if (archive === undefined) {
    return {
      whyNot:
        'the software driver is not installed (npm install @sparticuz/chromium@147, in the project or global folder where centroidal is installed)',
    }
  }
  try {
    const packed = readFileSync(archive)
    const unpack = (): PackedFile[] =>
      [...readTar(brotliDecompressSync(packed))].filter(({ name }) => SOFTWARE_FILES.includes(name))
    // Unpacking takes ten times as long as hashing, so the digest of the known archive is written down here.
    const known = createHash('sha256').update(packed).digest('hex') === KNOWN_ARCHIVE.sha256
    const digest = known ? KNOWN_ARCHIVE.digest : digestOf(unpack())
    return { folder: privateFolder('swiftshader', digest, unpack) }
  } catch (error) {
    return {
      whyNot: `the software driver could not be unpacked (${String((error as Error)?.message ?? error).split('\n')[0]})`,
    }
  }
}

/**
 * Only where Node looks for the packages this file imports. The current folder is not searched: it may hold files of
 * others, and what is found is run.
 */
function findSoftwareArchive(): string | undefined {
  try {
    let folder = dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
    while (dirname(folder) !== folder && !existsSync(join(folder, 'bin', 'swiftshader.tar.br')))
      folder = dirname(folder)
    const archive = join(folder, 'bin', 'swiftshader.tar.br')
    return existsSync(archive) ? archive : undefined
  } catch {
    return undefined
  }
}
