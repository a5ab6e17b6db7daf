/** Paths that stand for several files: folders, and patterns with * ? [] and **. */
import { readdir, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** A path that exists is never a pattern, whatever characters it has. */
export async function listFiles(location: string): Promise<readonly string[]> {
  const found = await stat(location).catch(() => undefined)
  if (found?.isDirectory()) {
    const entries = await readdir(location, { withFileTypes: true })
    const names = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
    return names.sort(byName).map((name) => join(location, name))
  }
  if (found || !/[*?[]/.test(location)) return [location]
  const parts = location.split(/[/\\]/)
  const absolute = parts[0] === ''
  return (await matches(absolute ? sep : '', absolute ? parts.slice(1) : parts)).sort(byName)
}

async function matches(folder: string, [part, ...rest]: readonly string[]): Promise<string[]> {
  if (part === undefined) return []
  if (part === '' || part === '.' || part === '..') return matches(join(folder, part || '.'), rest)
  const entries = await readdir(folder === '' ? '.' : folder, { withFileTypes: true }).catch(() => [])
  const found: string[] = []
  if (part === '**') {
    found.push(...(await matches(folder, rest)))
    for (const entry of entries) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) {
        found.push(...(await matches(join(folder, entry.name), [part, ...rest])))
      }
    }
    return found
  }
  const pattern = expressionOf(part)
  for (const entry of entries) {
    if (!pattern.test(entry.name) || (entry.name.startsWith('.') && !part.startsWith('.'))) continue
    const path = join(folder, entry.name)
    if (rest.length > 0) found.push(...(entry.isFile() ? [] : await matches(path, rest)))
    else if (!entry.isDirectory()) found.push(path)
  }
  return found
}

/** A set in brackets stays as it is; everything else but * and ? is taken by the letter. */
function expressionOf(part: string): RegExp {
  const text = part.replace(/\*|\?|\[!?[^\]]+\]|[^*?[]+|\[/g, (piece) => {
    if (piece === '*') return '[^/]*'
    if (piece === '?') return '[^/]'
    if (/^\[.+\]$/s.test(piece)) return `[${piece.slice(1, -1).replace(/^!/, '^').replace(/[\\[]/g, '\\$&')}]`
    return piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  try {
    return new RegExp(`^${text}$`, 'su')
  } catch {
    // A set that makes no sense, such as [z-a], matches nothing.
    return /$^/
  }
}

/** Runs of digits by their value, the rest by code units: part-2 before part-10, the same on every machine. */
export function byName(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => name.match(/\d+|\D+/g) ?? [])
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] === right[i]) continue
    const [x, y] = [Number(left[i]), Number(right[i])]
    if (x >= 0 && y >= 0 && x !== y) return x - y
    return left[i] < right[i] ? -1 : 1
  }
  return left.length - right.length
}
