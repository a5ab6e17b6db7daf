/**
 * GPU families the compiler is asked for, and the throughput of one SIMD of each, per clock. A compute unit has two
 * SIMDs; workgroup memory (LDS) and the vector cache belong to the compute unit, and each SIMD is given half.
 */

export interface Family {
  readonly architecture: string
  /** What Mesa's shim is asked to be: the value of AMDGPU_GPU_ID. */
  readonly gpuId: string
  /** Vector registers of a lane in waves of 64 lanes, and the unit in which they are allocated. */
  readonly registers: number
  readonly registerBlock: number
  /** Waves a SIMD can hold. */
  readonly mostWaves: number
  /** Bytes of workgroup memory of a compute unit. */
  readonly ldsCapacity: number
  /** Lanes of fp32 multiply-add: the peak that shares are measured against. */
  readonly peakLanes: number
  /** Whether a wave of 64 lanes issues common fp32 instructions in one clock instead of two. */
  readonly wideIssue: boolean
  readonly ldsBytes: number
  /** Bytes from the nearest vector cache, when neighbouring lanes read neighbouring addresses and always hit. */
  readonly cacheBytes: number
}

export const SIMDS_PER_COMPUTE_UNIT = 2

const RDNA = {
  registers: 512,
  registerBlock: 8,
  mostWaves: 16,
  ldsCapacity: 65536,
  peakLanes: 32,
  wideIssue: false,
  ldsBytes: 64,
  cacheBytes: 32,
} as const

export const FAMILIES: Readonly<Record<string, Family>> = {
  navi31: {
    ...RDNA,
    architecture: 'RDNA 3',
    gpuId: 'navi31',
    registers: 768,
    registerBlock: 12,
    peakLanes: 64,
    wideIssue: true,
  },
  navi21: { ...RDNA, architecture: 'RDNA 2', gpuId: 'navi21' },
  navi10: { ...RDNA, architecture: 'RDNA 1', gpuId: 'navi10', registerBlock: 4, mostWaves: 20 },
}

export const DEFAULT_FAMILIES = ['navi31', 'navi21', 'navi10'] as const
