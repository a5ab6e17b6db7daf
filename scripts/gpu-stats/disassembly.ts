/**
 * Reads what RADV prints about a compute shader with RADV_DEBUG=shaders,shaderstats: the workgroup size, the machine
 * code after "disasm:", and a list of statistics.
 */

export interface Instruction {
  /** Mnemonic without the suffix of its encoding: v_fmac_f32. */
  readonly op: string
  /** The block a branch goes to. */
  readonly target?: string
  /** Second half of a dual-issue instruction: it takes no clock of its own. */
  readonly paired?: true
}

/** Instructions `from` to `to`, both included: a backward branch at `to` goes to `from`. */
export interface Loop {
  readonly from: number
  readonly to: number
  /** Number of loops around an instruction of this one, itself included. */
  readonly depth: number
  readonly innermost: boolean
}

export interface CompiledKernel {
  /** As printed: 'VGPRs', 'Spilled VGPRs', 'LDS size', ... */
  readonly statistics: Readonly<Record<string, number>>
  /** Lanes of a wave: 64 or 32. */
  readonly wave: number
  /** Threads of a workgroup. */
  readonly threads: number
  readonly code: readonly Instruction[]
  readonly loops: readonly Loop[]
  /** The machine code as text. */
  readonly assembly: string
}

/** Throws if the text has no machine code or no statistics. */
export function parseCompiled(text: string): CompiledKernel {
  const statistics: Record<string, number> = {}
  for (const [, key, value] of text.matchAll(/^([A-Z][\w -]*): (\d+)$/gm)) statistics[key] = Number(value)
  const assembly = /^disasm:\n([\s\S]*?)(?=^Compute Shader|^\*\*\*|$(?![\s\S]))/m.exec(text)?.[1].trimEnd()
  if (!assembly || statistics.VGPRs === undefined) {
    throw new Error(
      'The driver printed no machine code or no statistics: RADV_DEBUG=shaders,shaderstats has no effect.',
    )
  }
  const size = /^workgroup_size: (\d+), (\d+), (\d+)/m.exec(text)
  const { code, blocks } = parseAssembly(assembly)
  // Without a disassembler for the GPU (LLVM), the driver prints another kind of listing.
  if (!code.some(({ op }) => op === 's_endpgm')) {
    throw new Error('The driver printed no machine code that can be read: its LLVM does not know this GPU family.')
  }
  return {
    statistics,
    wave: waveOf(assembly),
    threads: size ? Number(size[1]) * Number(size[2]) * Number(size[3]) : 1,
    code,
    loops: findLoops(code, blocks),
    assembly,
  }
}

function parseAssembly(assembly: string): { code: Instruction[]; blocks: Map<string, number> } {
  const code: Instruction[] = []
  const blocks = new Map<string, number>()
  for (const line of assembly.split('\n')) {
    const block = /^(BB\d+):/.exec(line)?.[1]
    if (block) blocks.set(block, code.length)
    const repeats = Number(/^\s*\(then repeated (\d+) times\)/.exec(line)?.[1] ?? 0)
    for (let i = 0; i < repeats && code.length > 0; i++) code.push(code[code.length - 1])
    if (!/^\s+[a-z]+_/.test(line)) continue
    const [first, second] = line.split(';')[0].split('::')
    const target = /\bBB\d+\b/.exec(first)?.[0]
    code.push({ op: mnemonic(first), ...(target === undefined ? {} : { target }) })
    if (second !== undefined) code.push({ op: mnemonic(second), paired: true })
  }
  return { code, blocks }
}

const mnemonic = (text: string): string =>
  text
    .trim()
    .split(/\s/)[0]
    .replace(/_e(32|64)(_dpp)?$/, '')

/** Waves of 32 lanes use the low halves of the lane masks only. */
function waveOf(assembly: string): number {
  return /\b(exec|vcc)_lo\b/.test(assembly) && !/\b(exec|vcc)\b/.test(assembly) ? 32 : 64
}

function findLoops(code: readonly Instruction[], blocks: ReadonlyMap<string, number>): Loop[] {
  const ends = new Map<number, number>()
  code.forEach(({ op, target }, at) => {
    if (target === undefined || !/^s_c?branch/.test(op)) return
    const from = blocks.get(target)
    if (from !== undefined && from <= at) ends.set(from, Math.max(ends.get(from) ?? 0, at))
  })
  const spans = [...ends].map(([from, to]) => ({ from, to }))
  const contains = (a: { from: number; to: number }, b: { from: number; to: number }) =>
    a.from <= b.from && a.to >= b.to
  return spans.map((span) => ({
    ...span,
    depth: spans.filter((other) => contains(other, span)).length,
    innermost: !spans.some((other) => other !== span && contains(span, other)),
  }))
}
