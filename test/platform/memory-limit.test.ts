import { describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import { openDevice } from '../../src/device/open.ts'
import { spareMemory } from '../../src/device/spare-memory.ts'
import { memoryLimit } from '../../src/platform/memory-limit.ts'

const GB = 2 ** 30

function limit(files: Record<string, string>, constrainedBytes?: number, totalBytes = 16 * GB): number {
  return memoryLimit({ totalBytes, constrainedBytes, read: (file) => files[file] })
}

describe('the memory limit', () => {
  test('is the memory of the machine where nothing else is known', () => {
    expect(limit({})).toBe(16 * GB)
    expect(limit({}, 0)).toBe(16 * GB)
    // What Node says where a control group has no limit.
    expect(limit({}, 2 ** 64)).toBe(16 * GB)
  })

  test('is what Node knows, where that is less', () => {
    expect(limit({}, GB)).toBe(GB)
  })

  test('comes from version 2 of control groups', () => {
    const group = { '/proc/self/cgroup': '0::/\n' }
    expect(limit({ ...group, '/sys/fs/cgroup/memory.max': '734003200\n' })).toBe(734003200)
    expect(limit({ ...group, '/sys/fs/cgroup/memory.max': 'max\n' })).toBe(16 * GB)
    expect(limit({ ...group, '/sys/fs/cgroup/memory.max': 'max\n', '/sys/fs/cgroup/memory.high': '1000000\n' })).toBe(
      1e6,
    )
  })

  test('counts for the groups above as well', () => {
    expect(
      limit({
        '/proc/self/cgroup': '0::/user.slice/app.service\n',
        '/sys/fs/cgroup/user.slice/app.service/memory.max': 'max\n',
        '/sys/fs/cgroup/user.slice/memory.max': '2000000\n',
        '/sys/fs/cgroup/memory.max': '3000000\n',
      }),
    ).toBe(2e6)
  })

  test('comes from version 1 of control groups', () => {
    const group = { '/proc/self/cgroup': '12:cpu,cpuacct:/a\n5:memory:/docker/1f\n0::/x\n' }
    expect(limit({ ...group, '/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes': '5000000\n' })).toBe(5e6)
    // Inside a container the group's own folder is mounted at the top.
    expect(limit({ ...group, '/sys/fs/cgroup/memory/memory.limit_in_bytes': '6000000\n' })).toBe(6e6)
    // No limit.
    expect(limit({ ...group, '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n' })).toBe(16 * GB)
  })

  test('is not lowered by files that make no sense', () => {
    expect(limit({ '/proc/self/cgroup': 'rubbish\n0::/a:b\n', '/sys/fs/cgroup/memory.max': '' })).toBe(16 * GB)
  })

  test('is known on this machine', () => {
    expect(platform.memoryLimit()).toBeGreaterThan(2 ** 20)
    expect(platform.memoryInUse()).toBeLessThan(platform.memoryLimit() as number)
  })
})

describe('the memory for vectors', () => {
  test('is half of what is left, at most what was wanted', () => {
    expect(spareMemory(3 * GB, { limit: 16 * GB, inUse: GB })).toBe(3 * GB)
    expect(spareMemory(3 * GB, { limit: 700e6, inUse: 100e6 })).toBe(300e6)
    expect(spareMemory(3 * GB, { limit: 50e6, inUse: 40e6 })).toBe(2 ** 26)
    expect(spareMemory(1000, { limit: 50e6, inUse: 40e6 })).toBe(1000)
    expect(spareMemory(3 * GB, { limit: undefined, inUse: undefined })).toBe(3 * GB)
  })

  test('is what a device keeps by default', async () => {
    vi.spyOn(platform, 'memoryLimit').mockReturnValue(700e6)
    vi.spyOn(platform, 'memoryInUse').mockReturnValue(100e6)
    for (const kind of ['cpu', 'webgpu'] as const) {
      const device = await openDevice({ kind })
      expect(device.info.limits.memoryBytes, kind).toBe(
        device.info.kind === 'webgpu' && !device.info.software ? 2 * GB : 300e6,
      )
      await device.close()
      const told = await openDevice({ kind, memoryBytes: 1e9 })
      expect(told.info.limits.memoryBytes, kind).toBe(1e9)
      await told.close()
    }
    vi.restoreAllMocks()
  })
})
