/** gpu:stats without Mesa: the list of kernels, the parser and the cost model on recorded text, targets, messages. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DriverError, splitOutput } from '../../scripts/gpu-stats/compile.ts'
import { costOf, hotLoop, multiplyAddsOf, residentWaves, shareWithOuterLoop } from '../../scripts/gpu-stats/cost.ts'
import { parseCompiled } from '../../scripts/gpu-stats/disassembly.ts'
import { findDriver } from '../../scripts/gpu-stats/driver.ts'
import { FAMILIES } from '../../scripts/gpu-stats/families.ts'
import { type Kernel, kernelsOf } from '../../scripts/gpu-stats/kernels.ts'
import { loadShaders } from '../../scripts/gpu-stats/load-shaders.ts'
import { missedTargets, type Row, rowOf, type Target, tableOf } from '../../scripts/gpu-stats/report.ts'
import { declareKernel } from '../../src/kernels/declared-kernel.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { NESTED, SUM_OF_SQUARES } from './radv-output.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const { navi31, navi21, navi10 } = FAMILIES
const path = temporaryFolder()

/** Beginnings of declarations whose shaders kernelsOf would not find. */
function makers(text: string): string[] {
  const calls = [...text.matchAll(/\bdeclareKernel\(/g)].map(({ index }) =>
    text.slice(0, index + 'declareKernel('.length),
  )
  const declared = calls.map((before) =>
    before.split('\n').findLast((line) => /^(export |const |function )/.test(line)),
  )
  return declared.map((line) => line ?? '').filter((line) => !/^export const \w+ = declareKernel\(/.test(line))
}

describe('kernels', async () => {
  const modules = await loadShaders()
  const features = { subgroups: true, f16: true }

  test('what makes a shader is exported', () => {
    expect(makers('export const a = declareKernel({\n')).toEqual([])
    expect(makers('export const c = (type) =>\n  declareKernel({')).toEqual(['export const c = (type) =>'])
    for (const file of readdirSync(join(ROOT, 'src/kernels')).filter((name) => name !== 'declared-kernel.ts')) {
      expect(makers(readFileSync(join(ROOT, 'src/kernels', file), 'utf8')), file).toEqual([])
    }
  })

  test('a new shader is compiled without being listed', () => {
    const body = () =>
      '@compute @workgroup_size(64)\nfn first() {}\n// @compute fn no() {}\n@compute @workgroup_size(1) fn second() {}'
    const kernels = kernelsOf({ extra: { kernel: declareKernel('extra', { args: {}, gpu: { body } }) } }, features)
    expect(kernels.map(({ file, name, entry }) => [file, name, entry])).toEqual([
      ['extra', 'extra:first', 'first'],
      ['extra', 'extra:second', 'second'],
    ])
  })

  test('every file of shaders/ with an entry point is compiled, each kernel once', () => {
    const kernels = kernelsOf(modules, features)
    const all = kernels.map(({ code }) => code).join('\n')
    for (const file of readdirSync(join(ROOT, 'shaders'))) {
      const entries = readFileSync(join(ROOT, 'shaders', file), 'utf8')
        .split('@compute')
        .slice(1)
      const found = entries.filter((entry) => {
        // A line without anything that is filled in.
        const lines = entry
          .split('`')[0]
          .split('\n')
          .filter((line) => !/\$\{|\/\//.test(line))
        return all.includes(lines.sort((a, b) => b.length - a.length)[0].trim())
      })
      // Some entries are for software adapters alone.
      if (entries.length > 0) expect(found.length, file).toBeGreaterThan(0)
    }
    const names = kernels.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { name, code } of kernels) expect(`${name} ${code}`, name).not.toMatch(/undefined|NaN|\[object/)
  })
})

describe('machine code', () => {
  test('of a single loop', () => {
    const kernel = parseCompiled(SUM_OF_SQUARES)
    expect(kernel).toMatchObject({ wave: 64, threads: 64 })
    expect(kernel.statistics).toMatchObject({ VGPRs: 12, 'LDS size': 0, 'Inverse Throughput': 117 })
    expect(kernel.code.filter(({ op }) => op === 's_nop')).toHaveLength(6)
    expect(kernel.loops).toEqual([{ from: 12, to: 23, depth: 1, innermost: true }])
    expect(kernel.code[12].op).toBe('s_cmp_ge_u32')
    expect(kernel.code[23]).toEqual({ op: 's_branch', target: 'BB3' })
    expect(kernel.assembly.split('\n').at(-1)).toMatch(/s_endpgm/)
  })

  test('of nested loops with waves of 32 lanes', () => {
    const kernel = parseCompiled(NESTED)
    expect(kernel).toMatchObject({ wave: 32, threads: 256 })
    expect(kernel.loops.map(({ depth, innermost }) => [depth, innermost])).toEqual(
      expect.arrayContaining([
        [1, false],
        [2, true],
      ]),
    )
    expect(kernel.code.filter(({ paired }) => paired).map(({ op }) => op)).toEqual([
      'v_dual_fmac_f32',
      'v_dual_mov_b32',
    ])
  })

  test('is required', () => {
    expect(() => parseCompiled('')).toThrow(/no machine code or no statistics/)
    expect(() => parseCompiled(SUM_OF_SQUARES.replace('s_endpgm', 'p_end'))).toThrow(/does not know this GPU family/)
  })
})

describe('cost', () => {
  test('of a loop bound by the cache', () => {
    const kernel = parseCompiled(SUM_OF_SQUARES)
    // 4 multiply-adds in 4 clocks, an integer multiplication in 8, an addition in 2; 64 lanes load 16 bytes at 32 a clock.
    const hot = hotLoop(kernel, navi31)
    expect(hot).toMatchObject({ multiplyAdds: 4, clocks: { VALU: 14, LDS: 0, cache: 32 }, bound: 'cache' })
    expect(hot?.share).toBe(4 / 32)
    // RDNA 2 takes two clocks for any instruction, and half as many multiply-adds are its peak.
    expect(hotLoop(kernel, navi21)).toMatchObject({ clocks: { VALU: 18, cache: 32 }, share: 8 / 32 })
  })

  test('of dual issue and workgroup memory', () => {
    const kernel = parseCompiled(NESTED)
    const hot = hotLoop(kernel, navi31)
    // 16 and 2 x 4 bytes for each of 32 lanes at 64 a clock.
    expect(hot).toMatchObject({ multiplyAdds: 3, clocks: { VALU: 2, LDS: 12, cache: 0 }, bound: 'LDS' })
    expect(hot?.share).toBe((3 * 32) / 12 / 64)
  })

  test('of the loop around the hot one', () => {
    const kernel = parseCompiled(NESTED)
    const hot = hotLoop(kernel, navi31)!
    const outer = kernel.loops.find(({ innermost }) => !innermost)!
    expect(costOf(kernel, outer, navi31).clocks.VALU).toBe(5)
    // 9 columns and 2 products are 18 multiply-adds, 3 an iteration: 6 x 12 clocks, and 3 around them.
    const share = shareWithOuterLoop(kernel, hot, navi31, { columns: 9, products: 2 })
    expect(share).toBeCloseTo((18 * 32) / 75 / 64, 12)
  })

  test.each([
    ['v_fmac_f32', 1],
    ['v_dual_fmac_f32', 1],
    ['v_dot4_i32_iu8', 4],
    ['v_pk_fma_f16', 2],
    ['v_wmma_f32_16x16x16_f16', 64],
    ['v_mul_f32', 0],
    ['v_mad_u32_u24', 0],
    ['s_fmac_f32', 0],
  ])('%s: %i multiply-adds', (op, expected) => expect(multiplyAddsOf(op)).toBe(expected))

  test('waves by registers and by workgroup memory', () => {
    const kernel = (statistics: Record<string, number>, wave = 64, threads = 256) => ({
      ...parseCompiled(NESTED),
      statistics,
      wave,
      threads,
    })
    expect(residentWaves(kernel({ VGPRs: 96, 'LDS size': 0 }), navi31)).toBe(8)
    expect(residentWaves(kernel({ VGPRs: 97, 'LDS size': 0 }), navi31)).toBe(7)
    expect(residentWaves(kernel({ VGPRs: 96, 'LDS size': 0 }, 32), navi31)).toBe(16)
    expect(residentWaves(kernel({ VGPRs: 12, 'LDS size': 16384 }), navi21)).toBe(8)
    expect(residentWaves(kernel({ VGPRs: 12, 'LDS size': 0 }), navi10)).toBe(20)
  })
})

const kernelNamed = (name: string): Kernel => ({ file: name.split('-')[0], name, code: '', entry: 'main' })

describe('output of the compiler', () => {
  const text = `\n@@ ADAPTER\n\n@@ BEGIN 0\n${SUM_OF_SQUARES}\n@@ END 0\n\n@@ BEGIN 1\n\n@@ ERROR no such type\n\n@@ END 1\n\n@@ BEGIN 2\nhalf`
  const kernels = ['assign-f32', 'assign-u8', 'means', 'tally'].map(kernelNamed)

  test('is split by kernel, up to a crash', () => {
    const compiled = splitOutput(text, kernels)
    expect(compiled.map(({ kernel }) => kernel.name)).toEqual(['assign-f32', 'assign-u8', 'means'])
    expect(compiled[0].result).toMatchObject({ threads: 64 })
    expect(compiled[1].result).toEqual({ error: 'no such type' })
    expect(compiled[2].result).toEqual({ error: 'the compiler crashed' })
  })

  test('without a GPU is an error', () => {
    expect(() => splitOutput('\n@@ NO ADAPTER\n', kernels)).toThrow(DriverError)
    expect(() => splitOutput('node: not found', kernels)).toThrow(/could not be started:\nnode: not found/)
  })

  test('becomes a table', () => {
    const rows = splitOutput(text, kernels).map((compiled) => rowOf(compiled, navi31))
    expect(rows[0]).toMatchObject({ vgprs: 12, spills: 0, waves: 16, multiplyAdds: 4, peak: 13, bound: 'cache' })
    const lines = tableOf(rows).split('\n')
    expect(lines[1].split(/ +/)).toEqual('assign-f32 64 12 0 0 0 16 63 4 14 0 32 13 13 cache'.split(' '))
    expect(lines[2]).toMatch(/^assign-u8( +-)+$/)
    const nested = rowOf({ kernel: kernelNamed('x'), result: parseCompiled(NESTED) }, navi31)
    expect(nested).toMatchObject({ spills: 7, scratch: 256, lds: 16384 })
  })
})

describe('targets', () => {
  const base = rowOf({ kernel: kernelNamed('assign-f32'), result: parseCompiled(SUM_OF_SQUARES) }, navi31)
  const row = (kernel: string, values: Partial<Row>): Row => ({ ...base, kernel, ...values })
  const rows = [row('assign-a-f32', { peak: 50 }), row('assign-b-f32', { peak: 95, scratch: 16 })]

  test('hold for all kernels, or for one form of a kernel', () => {
    const all: Target = { name: 'all', kernels: '', most: { scratch: 0, spills: 0 } }
    const best: Target = { name: 'assign', kernels: '^assign/.*f32', anyForm: true, least: { peak: 90 } }
    expect(missedTargets(rows, 'navi31', [all, best])).toEqual([
      'navi31: all: assign-b-f32 has 16 bytes of scratch (at most 0)',
    ])
    expect(missedTargets(rows, 'navi31', [{ ...best, least: { peak: 96, waves: 17 } }])).toEqual([
      'navi31: assign: assign-b-f32 has 95 % of fp32 peak (at least 96), 16 waves (at least 17)',
    ])
    expect(missedTargets(rows, 'navi31', [{ ...best, families: ['navi21'], least: { peak: 100 } }])).toEqual([])
  })

  test('are missed where nothing matches or a kernel does not compile', () => {
    const target: Target = { name: 'encode', kernels: '^encode/', least: { peak: 40 } }
    expect(missedTargets(rows, 'navi31', [target])).toEqual(['navi31: encode: no kernel matches ^encode/'])
    expect(missedTargets(rows, 'navi31', [target], { partial: true })).toEqual([])
    expect(missedTargets([row('bad', { error: 'no such type' })], 'navi31', [])).toEqual([
      'navi31: bad does not compile: no such type',
    ])
  })

  test('of the project each name kernels that exist', async () => {
    const targets = JSON.parse(readFileSync(join(ROOT, 'scripts/gpu-stats/targets.json'), 'utf8')) as Target[]
    const kernels = kernelsOf(await loadShaders(), { subgroups: true, f16: true })
    for (const { name, kernels: pattern, families = [] } of targets) {
      expect(
        kernels.filter((kernel) => new RegExp(pattern).test(`${kernel.file}/${kernel.name}`)),
        name,
      ).not.toEqual([])
      for (const family of families) expect(FAMILIES).toHaveProperty(family)
    }
  })
})

describe('Mesa', () => {
  const put = (file: string): string => {
    mkdirSync(dirname(path(file)), { recursive: true })
    writeFileSync(path(file), '')
    return path(file)
  }

  test('is found in the usual folders, by variables and by options', () => {
    const root = path('.')
    expect(findDriver({ env: {}, root })).toEqual({
      missing: [expect.stringMatching(/radeon_icd\.json/), expect.stringMatching(/libamdgpu_noop_drm_shim\.so/)],
    })
    const shim = put('usr/lib/x86_64-linux-gnu/libamdgpu_noop_drm_shim.so')
    put('usr/share/vulkan/icd.d/intel_icd.x86_64.json')
    expect(findDriver({ env: {}, root })).toEqual({ missing: [expect.stringMatching(/radeon_icd\.json/)] })
    const icd = put('usr/share/vulkan/icd.d/radeon_icd.x86_64.json')
    expect(findDriver({ env: {}, root })).toEqual({ driver: { icd, shim } })
    const own = put('own/radeon_icd.json')
    expect(findDriver({ env: { VK_ICD_FILENAMES: `/none/lvp_icd.json:${own}` }, root })).toEqual({
      driver: { icd: own, shim },
    })
    expect(findDriver({ env: {}, root, icd: own, shim })).toEqual({ driver: { icd: own, shim } })
    expect(findDriver({ env: {}, root, shim: '/none/shim.so' })).toEqual({ missing: ['No such file: /none/shim.so'] })
  })

  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/gpu-stats.mjs'), ...args], { encoding: 'utf8' })

  test('missing: the command says how to install it and ends with 2', () => {
    const { status, stderr, stdout } = run('--icd', path('none.json'), '--shim', path('none.so'))
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(`No such file: ${path('none.json')}\nNo such file: ${path('none.so')}\n`)
    expect(stderr).toContain('apt-get install -t bookworm-backports mesa-vulkan-drivers mesa-drm-shim')
  })

  test('options are checked', () => {
    expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/--family LIST/) })
    expect(run('--family', 'navi99')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/Unknown family "navi99"/),
    })
    expect(run('--famly', 'navi31').status).toBe(2)
  })
})
