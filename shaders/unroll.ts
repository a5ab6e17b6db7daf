/** Unrolled WGSL: text repeated for each number below `count`, so that no compiler has to keep an array in registers. */
export function unroll(count: number, text: (index: number) => string, separator = '\n'): string {
  return Array.from({ length: count }, (_, index) => text(index)).join(separator)
}

/** The components of a vec4. */
export const COMPONENTS = ['x', 'y', 'z', 'w'] as const
