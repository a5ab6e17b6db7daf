/**
 * Lists name, version and licence of every package that comes with an installation, and fails if one of them has no
 * permissive licence. Reads package-lock.json of this checkout, or of the folder that is given as an argument.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
  'Zlib',
])

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
const { packages } = readJson(join(folder, 'package-lock.json'))
const installed = Object.entries(packages)
  .filter(([path, { dev, link }]) => path !== '' && !dev && !link)
  .map(([path, locked]) => {
    const manifest = join(folder, path, 'package.json')
    // The package itself is the authority; the lock file has a copy.
    const license = (existsSync(manifest) ? readJson(manifest).license : undefined) ?? locked.license
    return { name: path.replace(/^.*node_modules\//, ''), version: locked.version, license }
  })
  .sort((a, b) => (a.name < b.name ? -1 : 1))

for (const { name, version, license } of installed) {
  console.log(`${name}\t${version}\t${isPermissive(license) ? license : `${license ?? 'no licence'}\tNOT PERMISSIVE`}`)
}
const refused = installed.filter(({ license }) => !isPermissive(license))
if (refused.length > 0) {
  const names = refused.map(({ name, license }) => `${name} (${license ?? 'no licence'})`).join(', ')
  console.error(`Not permissive: ${names}. Replace the dependency, or add its licence to scripts/licenses.mjs.`)
  process.exitCode = 1
}

/** An SPDX expression: one of several with OR, all of several with AND. */
function isPermissive(expression) {
  if (typeof expression !== 'string') return false
  return expression
    .replace(/[()]/g, ' ')
    .split(/\sOR\s/)
    .some((choice) => choice.split(/\sAND\s/).every((license) => PERMISSIVE.has(license.trim())))
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
