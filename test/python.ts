/** A Python that has what a test needs, if there is one. */
import { spawnSync } from 'node:child_process'

const PROGRAMS = ['python3', '/usr/bin/python3']

/** The first program that can import a module. */
export function pythonWith(module: string): string | undefined {
  return PROGRAMS.find((program) => spawnSync(program, ['-c', `import ${module}`]).status === 0)
}
