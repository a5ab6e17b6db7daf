/** GPUs that cannot compile a shader: the kernel's next form serves, with the same results and a note. */
import { describe, expect, test, vi } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import type { Device } from '../../src/device/contract.ts'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { moveBatches } from '../../src/kernels/apply-moves.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { assignLeaves, createAssignLeavesWorkspace, prepareLeafCenters } from '../../src/kernels/assign-leaves.ts'
import { distances } from '../../src/kernels/distances.ts'
import { bookStride, codeBytes, encode, errorBytes } from '../../src/kernels/encode.ts'
import { gram, matmul } from '../../src/kernels/matmul.ts'
import { createGrowWorkspace, growNodes } from '../../src/kernels/partition-tree.ts'
import { respondAll } from '../../src/kernels/respond.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { scanCodes } from '../../src/kernels/scan-codes.ts'
import { LEAF, searchTree } from '../../src/kernels/search-tree.ts'
import { openIdle, openRefusing } from '../device/changed-gpu.ts'
import { testSeed } from '../properties.ts'
import { type CaseBuffers, useBuffers } from './devices.ts'
import { prepareCase } from './move-cases.ts'
import { makeMoves } from './moves.ts'
import { centers, points, weights, wholeNumbers } from './vectors.ts'

// A software adapter takes its time to compile kernels for hardware.
vi.setConfig({ testTimeout: 600_000 })

/** A call of a kernel with small whole numbers, for which all forms give the same bits. */
type Call = (buffers: CaseBuffers, device: Device) => Promise<ArrayLike<number>[]>

const nearest =
  (flavour: 'whole' | 'wholeBytes', n: number, k: number, d: number, m = 1): Call =>
  async (buffers, device) => {
    const to = buffers.rows(centers(flavour, k, d, 2), d)
    const labels = buffers.output(n * m * 4)
    const found = buffers.output(n * m * 4)
    const workspace = buffers.output(assignWorkspaceBytes(to)).buffer
    await assign(device, {
      points: buffers.rows(points(flavour, n, d, 1), d),
      centers: to,
      labels: labels.buffer,
      distances: found.buffer,
      workspace,
      ...(m > 1 ? { m } : {}),
    })
    return [await labels.words(), await found.floats()]
  }

const CALLS: Record<string, Call> = {
  'assign, floats': nearest('whole', 70, 300, 20),
  'assign, bytes': nearest('wholeBytes', 16_400, 260, 64),
  'assign, several nearest': nearest('whole', 70, 100, 20, 3),
  async matmul(buffers, device) {
    const { rows, output } = buffers.outputRows(60, 70)
    await matmul(device, {
      a: buffers.rows(points('whole', 60, 20, 1), 20),
      b: buffers.rows(centers('whole', 70, 20, 2), 20),
      out: rows,
    })
    return [await output.floats()]
  },
  async gram(buffers, device) {
    const out = buffers.output(paddedCols(60) ** 2 * 4)
    const rows = buffers.rows(points('whole', 90, 60, 1), 60)
    await gram(device, { a: rows, b: rows, out: out.buffer })
    return [await out.floats()]
  },
  async distances(buffers, device) {
    const out = buffers.output(50 * 60 * 4)
    const to = buffers.rows(centers('whole', 60, 70, 2), 70)
    await distances(device, { points: buffers.rows(points('whole', 50, 70, 1), 70), centers: to, out: out.buffer })
    return [await out.floats()]
  },
  async respond(buffers, device) {
    const [n, k, d, m] = [50, 60, 70, 3]
    const best = buffers.output(n * m * 4)
    const logs = buffers.output(n * m * 4)
    await respondAll(device, {
      points: buffers.rows(points('whole', n, d, 1), d),
      centers: buffers.rows(centers('whole', k, d, 2), d),
      scales: buffers.upload(new Float32Array(2 * k).fill(0.25)),
      m,
      best: best.buffer,
      logs: logs.buffer,
      evidence: buffers.output(n * 4).buffer,
    })
    return [await best.words(), await logs.floats()]
  },
  async moves(buffers, device) {
    const given = makeMoves({ flavour: 'unit', n: 200, k: 12, d: 9, seed: 5, among: 'labels' })
    const { batch, labels } = await prepareCase(buffers, given)
    await moveBatches(device, [batch])
    return [await labels.words()]
  },
  async 'assign-leaves'(buffers, device) {
    const [n, k, d, leaf] = [120, 30, 9, 10]
    const to = buffers.rows(centers('whole', k, d, 2), d)
    const workspace = createAssignLeavesWorkspace(buffers.scope, n, n / leaf, to)
    await prepareLeafCenters(device, to, workspace)
    const labels = buffers.output(n * 4, wholeNumbers(n, k, 3))
    const found = buffers.output(n * 4, new Float32Array(n).fill(1e6))
    await assignLeaves(device, {
      points: buffers.rows(points('whole', n, d, 1), d),
      centers: to,
      members: buffers.upload(Uint32Array.from({ length: n }, (_, i) => i)),
      offsets: buffers.upload(Uint32Array.from({ length: n / leaf + 1 }, (_, i) => i * leaf)),
      leaves: n / leaf,
      largest: leaf,
      labels: labels.buffer,
      distances: found.buffer,
      workspace,
    })
    return [await labels.words(), await found.floats()]
  },
  async accumulate(buffers, device) {
    const [n, k, d] = [700, 300, 5]
    const rows = buffers.rows(points('whole', n, d, 1), d)
    const sums = buffers.output(k * rows.stride * 4)
    const counts = buffers.output(k * 4)
    await accumulate(device, {
      points: rows,
      labels: buffers.upload(wholeNumbers(n, k, 2)),
      weights: buffers.upload(weights(n, 3).map((value) => Math.round(value))),
      k,
      sums: sums.buffer,
      totals: buffers.output(k * 4).buffer,
      counts: counts.buffer,
      workspace: createAccumulateWorkspace(device, buffers.scope, n, rows.stride, k),
    })
    return [await sums.floats(), await counts.words()]
  },
  async encode(buffers, device) {
    const [n, h, ranges] = [50, 20, [0, 4, 12]]
    const codes = buffers.output(codeBytes(n, 2, h))
    await encode(device, {
      points: buffers.rows(points('whole', n, 12, 1), 12),
      ranges,
      books: buffers.upload(centers('whole', 2 * h, bookStride(ranges), 2)),
      codewords: h,
      codes: codes.buffer,
      errors: buffers.output(errorBytes(n, 2)).buffer,
    })
    return [await codes.bytes()]
  },
  async 'scan-codes'(buffers, device) {
    const [q, n, h, nearestCodes, ranges] = [4, 90, 16, 5, [0, 4, 8, 12, 16]]
    const ids = buffers.output(q * nearestCodes * 4)
    const found = buffers.output(q * nearestCodes * 4)
    await scanCodes(device, {
      queries: buffers.rows(centers('whole', q, 16, 1), 16),
      ranges,
      books: buffers.upload(centers('whole', 4 * h, bookStride(ranges), 2)),
      codewords: h,
      codes: buffers.upload(Uint8Array.from(wholeNumbers(n * 4, 256, 3))),
      tasks: [{ queries: [0, 1, 2, 3], first: 0, last: n, part: 0 }],
      parts: 1,
      nearest: nearestCodes,
      ids: ids.buffer,
      distances: found.buffer,
    })
    return [await ids.words(), await found.floats()]
  },
  async 'search-tree'(buffers, device) {
    const [n, k, d] = [40, 30, 6]
    // A root and two leaves.
    const nodes = Uint32Array.of(1, 2, 0, 0, 0, LEAF + 15, 0, 0, 15, LEAF + 15, 0, 0)
    const labels = buffers.output(n * 4)
    const found = buffers.output(n * 4)
    await searchTree(device, {
      points: buffers.rows(points('whole', n, d, 1), d),
      centers: buffers.rows(centers('whole', k, d, 2), d),
      tree: {
        nodes: buffers.upload(nodes),
        items: buffers.upload(Uint32Array.from({ length: k }, (_, i) => i)),
        nodeCenters: undefined,
        roots: 1,
        nodeCount: 3,
      },
      checks: k,
      labels: labels.buffer,
      distances: found.buffer,
      evaluated: buffers.output(n * 4).buffer,
    })
    return [await labels.words(), await found.floats()]
  },
  async 'split-nodes'(buffers, device) {
    const [n, d, split] = [90, 3, 40]
    const rows = buffers.rows(points('whole', n, d, 1), d)
    const members = buffers.output(
      n * 4,
      Uint32Array.from({ length: n }, (_, i) => i),
    )
    const table = Uint32Array.of(0, n, split)
    const workspace = createGrowWorkspace(device, buffers.scope, rows, 1)
    const nodes = buffers.upload(table)
    await growNodes(device, {
      points: rows,
      members: members.buffer,
      nodes,
      table,
      workspace,
      sample: 32,
      steps: 3,
      seed: 1,
    })
    const order = await members.words()
    // Which points are on which side, in any order.
    return [order.subarray(0, split).sort(), order.subarray(split).sort()]
  },
}

/** What a call gives on a device that refuses some shaders, all shaders it was asked to compile, and its notes. */
async function callOn(call: Call, tiled: boolean, refused: (name: string) => boolean, open = openRefusing) {
  const seen = new Set<string>()
  const refuse = (name: string): boolean => {
    seen.add(name)
    return refused(name)
  }
  const device = await open(refuse, { tiled, fill: 0xff })
  try {
    const result = await useBuffers(device, (buffers) => call(buffers, device))
    return { result: result.map((values) => Array.from(values)), seen, notes: device.notes ?? [] }
  } finally {
    await device.close()
  }
}

/** Nothing is compiled or run: shows which shaders a call asks for, and what it notes. */
function callIdle(call: Call, tiled: boolean, refused: (name: string) => boolean) {
  return callOn(call, tiled, refused, (refuse, options) => openIdle(options, refuse))
}

/** Each of their forms is run by the tests of the kernel, and takes seconds to compile. */
const FORMS_TESTED_BY_NAME = ['assign, floats', 'assign, bytes', 'matmul', 'gram', 'distances', 'respond']

/**
 * Shaders for hardware take seconds to compile on a software adapter. Each is refused once, but the work that remains runs for
 * one of them only.
 */
const random = createRandom(testSeed)

describe('a GPU that cannot compile', () => {
  test.each(Object.entries(CALLS))('shaders of %s for hardware: any of them, or all', async (name, call) => {
    const plain = await callOn(call, false, () => false)
    const isHardware = (shader: string): boolean => !plain.seen.has(shader)
    const none = await callOn(call, true, isHardware)
    expect(none.result).toEqual(plain.result)
    expect([...none.seen].some(isHardware)).toBe(true)
    for (const note of none.notes) expect(note).toMatch(/^[\w-]+ cannot be used on this GPU: ./)
    expect(none.notes.length).toBeGreaterThan(0)

    const hardware = [...(await callIdle(call, true, () => false)).seen].filter(isHardware)
    expect(hardware.length).toBeGreaterThan(0)
    const run = FORMS_TESTED_BY_NAME.includes(name) ? undefined : hardware[random.below(hardware.length)]
    for (const refused of hardware) {
      const { result, notes } = await (refused === run ? callOn : callIdle)(call, true, (shader) => shader === refused)
      if (refused === run) expect(result).toEqual(plain.result)
      expect(notes).toEqual([expect.stringMatching(`^${refused} cannot be used on this GPU: .`)])
    }
  })

  test.each(['assign-scalar', 'assign-wide-tiles', 'assign-tiles'])('anything for assign but %s', async (form) => {
    const plain = await callOn(CALLS['assign, floats'], false, () => false)
    const own = [form, 'assign-pack-centers', 'assign-merge-splits']
    const others = (name: string) => !plain.seen.has(name) && !own.some((start) => name.startsWith(start))
    const { result, seen } = await callOn(CALLS['assign, floats'], true, others)
    expect(result).toEqual(plain.result)
    expect([...seen].some((name) => name.startsWith(form))).toBe(true)
    expect(seen).not.toContain('assign-blocks-f32')
  })

  test('a shader without another form: the work fails with the reason, and nothing was run', async () => {
    await expect(callOn(CALLS.accumulate, false, (name) => name.startsWith('sum-clusters'))).rejects.toThrow(/./)
  })
})
