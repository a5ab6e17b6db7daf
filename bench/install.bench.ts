/**
 * What an installation of the library consists of: packages, their sizes, and what is added for a GPU in Node.
 *
 *   npm run bench -- install
 *
 * Sizes are those of the files in node_modules of this checkout, and of the package as npm packs it.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { keepResults, printTable } from './table.ts'

interface Locked {
  readonly version: string
  readonly dev?: boolean
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
const packed = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts'], { encoding: 'utf8' }),
)
const own = (Array.isArray(packed) ? packed[0] : Object.values(packed)[0]) as { size: number; unpackedSize: number }
const megabytes = (bytes: number): number => Math.round(bytes / 1e4) / 100

const rows = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, { version }]) => ({ package: path.replace('node_modules/', ''), version, MB: megabytes(sizeOf(path)) }))
rows.unshift({ package: 'centroidal', version: packages[''].version, MB: megabytes(own.unpackedSize) })
const total = {
  package: `${rows.length} packages`,
  version: '',
  MB: megabytes(rows.reduce((sum, { MB }) => sum + MB * 1e6, 0)),
}
printTable('What npm install centroidal adds', [...rows, total])
const optional = ['webgpu'].map((name) => ({
  package: name,
  version: packages[`node_modules/${name}`].version,
  MB: megabytes(sizeOf(`node_modules/${name}`)),
}))
printTable('What is added for a GPU in Node, by npm install webgpu', optional)
console.log(`\nThe packed file of centroidal has ${Math.round(own.size / 1e3)} kB.`)
keepResults('install', { packages: rows, total: total.MB, optional, packedBytes: own.size })

function sizeOf(path: string): number {
  return readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    const inner = join(path, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(inner) : statSync(inner).size)
  }, 0)
}
