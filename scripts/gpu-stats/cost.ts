/**
 * What a loop of machine code costs on one SIMD. Three units work side by side: the vector ALU, workgroup memory (LDS)
 * and the vector cache. A loop takes as long as the busiest of them; its share of the fp32 peak follows from its
 * multiply-adds. Latency, bank conflicts, cache misses, scattered reads and the scalar unit are not modelled, so a share
 * is an upper bound: a kernel with a low share is slow, one with a high share also needs waves to hide latency.
 */
import type { CompiledKernel, Instruction, Loop } from './disassembly.ts'
import { type Family, SIMDS_PER_COMPUTE_UNIT } from './families.ts'

export type Unit = 'VALU' | 'LDS' | 'cache'

export interface LoopCost {
  /** Multiply-adds of one lane in one iteration. Packed and matrix instructions do several. */
  readonly multiplyAdds: number
  /** Other fp32 or fp16 arithmetic. */
  readonly otherFloat: number
  /** Clocks of each unit for one iteration of one wave. */
  readonly clocks: Readonly<Record<Unit, number>>
  /** Bytes a lane loads from memory. */
  readonly loadedBytes: number
}

/** Issued for 64 lanes in one clock where the family has wide issue, by the tables of Mesa's compiler (ACO). */
const WIDE =
  /^v_(dual_\w+|(fma|fmac|fmaak|fmamk|mul|add|sub|subrev|max|min)_f(32|16)|mov_b32|cndmask_b32|dot2(acc|c)?_f32_f16|mad_[iu]16)$/
/** A quarter of the usual rate: 32-bit integer multiplication, and functions such as exp and sqrt. */
const QUARTER_RATE = /^v_(mul_(lo|hi)_[iu]32|mad_u64_u32|(rcp|rsq|sqrt|exp|log|sin|cos)_f(32|16))$/
const FLOAT = /^v_(dual_|pk_)?(add|sub|subrev|mul|max|min|max3|min3)_(f32|f16|legacy_f32)$/
const LDS_PAIR = /^ds_(load|store|read|write)_?2/

export function multiplyAddsOf(op: string, wave = 64): number {
  if (/^v_wmma/.test(op)) return (16 * 16 * 16) / wave
  if (/^v_dot4/.test(op)) return 4
  if (/^v_dot2|^v_pk_fmac?_f16/.test(op)) return 2
  return /^v_(dual_)?(fma|fmac|fmaak|fmamk|mad|mac)_(f32|f16|legacy_f32)$|^v_fma_mix/.test(op) ? 1 : 0
}

export function costOf(kernel: CompiledKernel, { from, to }: Pick<Loop, 'from' | 'to'>, family: Family): LoopCost {
  let multiplyAdds = 0
  let otherFloat = 0
  let valu = 0
  let ldsBytes = 0
  let loadedBytes = 0
  for (const instruction of kernel.code.slice(from, to + 1)) {
    const { op } = instruction
    const products = multiplyAddsOf(op, kernel.wave)
    multiplyAdds += products
    if (products === 0 && FLOAT.test(op)) otherFloat++
    valu += valuClocks(instruction, kernel.wave, family)
    if (op.startsWith('ds_')) ldsBytes += bytesOf(op) * (LDS_PAIR.test(op) ? 2 : 1)
    if (/^(buffer|global|flat)_load/.test(op)) loadedBytes += bytesOf(op)
  }
  const clocks = {
    VALU: valu,
    LDS: (ldsBytes * kernel.wave) / family.ldsBytes,
    cache: (loadedBytes * kernel.wave) / family.cacheBytes,
  }
  return { multiplyAdds, otherFloat, clocks, loadedBytes }
}

function valuClocks({ op, paired }: Instruction, wave: number, { wideIssue }: Family): number {
  if (paired || !op.startsWith('v_')) return 0
  if (/^v_wmma/.test(op)) return 32
  const clocks = wave / (wideIssue && wave === 64 && WIDE.test(op) ? 64 : 32)
  return QUARTER_RATE.test(op) ? clocks * 4 : clocks
}

/** Bytes of a lane. Loads of single bytes and halves still occupy a word. */
function bytesOf(op: string): number {
  const bits = /_b(32|64|96|128)(?:_|$)/.exec(op)?.[1]
  if (bits) return Number(bits) / 8
  const words = /_dwordx([234])$/.exec(op)?.[1]
  return words ? Number(words) * 4 : 4
}

const UNITS = ['VALU', 'LDS', 'cache'] as const
export const busiest = (clocks: LoopCost['clocks']): Unit =>
  UNITS.reduce((most, unit) => (clocks[unit] > clocks[most] ? unit : most))

/** Multiply-adds against fp32 ones at full rate: above 1 where packed instructions do more. */
export function peakShare(multiplyAdds: number, clocks: number, wave: number, family: Family): number {
  return clocks === 0 ? 0 : (multiplyAdds * wave) / clocks / family.peakLanes
}

export interface HotLoop extends LoopCost {
  readonly loop: Loop
  readonly bound: Unit
  /** Of fp32 peak, by this loop alone. */
  readonly share: number
}

/** The innermost loop with most multiply-adds; without any, the one with most other arithmetic, then most loads. */
export function hotLoop(kernel: CompiledKernel, family: Family): HotLoop | undefined {
  const rank = ({ multiplyAdds, otherFloat, loadedBytes, loop }: HotLoop): readonly number[] => [
    multiplyAdds,
    otherFloat,
    loadedBytes,
    loop.depth,
  ]
  const loops = kernel.loops.filter(({ innermost }) => innermost)
  const ranked = loops.map((loop) => {
    const cost = costOf(kernel, loop, family)
    const bound = busiest(cost.clocks)
    return { ...cost, loop, bound, share: peakShare(cost.multiplyAdds, cost.clocks[bound], kernel.wave, family) }
  })
  return ranked.sort((a, b) => compareLists(rank(b), rank(a)))[0]
}

const compareLists = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, i) => value - b[i]).find((difference) => difference !== 0) ?? 0

/**
 * Share of fp32 peak over the loop around the hot one, with vectors of `columns` columns. `products` is the number of
 * dot products a lane computes at a time, so that the hot loop runs columns * products / multiply-adds times. Other inner
 * loops with multiply-adds are taken to run as often; the rest of the outer loop, such as comparing scores, runs once.
 */
export function shareWithOuterLoop(
  kernel: CompiledKernel,
  hot: HotLoop,
  family: Family,
  { columns, products }: { columns: number; products: number },
): number {
  const inside = (a: Loop, b: Loop) => a.from >= b.from && a.to <= b.to
  const around = kernel.loops
    .filter((loop) => loop !== hot.loop && inside(hot.loop, loop))
    .sort((a, b) => a.to - a.from - (b.to - b.from))[0]
  if (around === undefined || hot.multiplyAdds === 0) return hot.share
  const iterations = (columns * products) / hot.multiplyAdds
  let clocks = costOf(kernel, around, family).clocks.VALU
  for (const loop of kernel.loops.filter((loop) => loop.innermost && inside(loop, around))) {
    const cost = costOf(kernel, loop, family)
    if (cost.multiplyAdds > 0) clocks += iterations * cost.clocks[busiest(cost.clocks)] - cost.clocks.VALU
  }
  return peakShare(columns * products, clocks, kernel.wave, family)
}

/** Waves that a SIMD holds at a time, by registers and workgroup memory. */
export function residentWaves({ statistics, wave, threads }: CompiledKernel, family: Family): number {
  const scale = 64 / wave
  const block = family.registerBlock * scale
  const allocated = Math.ceil(Math.max(1, statistics.VGPRs) / block) * block
  const byRegisters = Math.floor((family.registers * scale) / allocated)
  const lds = statistics['LDS size'] ?? 0
  const groups = lds > 0 ? Math.floor(family.ldsCapacity / lds) : Number.POSITIVE_INFINITY
  const byLds = Math.floor((groups * Math.ceil(threads / wave)) / SIMDS_PER_COMPUTE_UNIT)
  return Math.min(family.mostWaves, byRegisters, byLds)
}
