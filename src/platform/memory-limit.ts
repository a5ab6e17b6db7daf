/** How much memory the process may use: the machine's, or less where a container (a Linux control group) sets a limit. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** Where the limits come from; tests replace it. */
export interface MemoryFacts {
  /** Bytes of memory the machine has. */
  readonly totalBytes: number
  /** The limit that Node reports: undefined, 0 or a huge number if there is none. */
  readonly constrainedBytes: number | undefined
  /** The text of a file, or undefined if it cannot be read. */
  read(file: string): string | undefined
}

const CGROUP = '/sys/fs/cgroup'

export function memoryLimit(facts: MemoryFacts = systemFacts()): number {
  const limits = [facts.totalBytes, facts.constrainedBytes ?? 0]
  for (const file of limitFiles(facts.read('/proc/self/cgroup') ?? '')) {
    // "max" (version 2) means no limit, and so does a huge number (version 1).
    limits.push(Number.parseInt(facts.read(file) ?? '', 10))
  }
  return Math.min(...limits.filter((bytes) => bytes > 0))
}

/** The files with limits of the group of this process and of all groups above it, which count as well. */
function limitFiles(groups: string): string[] {
  const files: string[] = []
  for (const line of groups.split('\n')) {
    // hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers.
    const [, hierarchy, controllers, path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === undefined) continue
    const names = path.split('/').filter((name) => name !== '' && name !== '..')
    for (let depth = names.length; depth >= 0; depth--) {
      const folder = names.slice(0, depth).join('/')
      const below = folder === '' ? '' : `/${folder}`
      if (hierarchy === '0' && controllers === '') {
        files.push(`${CGROUP}${below}/memory.max`, `${CGROUP}${below}/memory.high`)
      } else if (controllers.split(',').includes('memory')) {
        files.push(`${CGROUP}/memory${below}/memory.limit_in_bytes`)
      }
    }
  }
  return files
}

function systemFacts(): MemoryFacts {
  return {
    totalBytes: totalmem(),
    constrainedBytes: process.constrainedMemory?.(),
    read: (file) => {
      try {
        return readFileSync(file, 'utf8')
      } catch {
        return undefined
      }
    },
  }
}
