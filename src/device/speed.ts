/**
 * The speed of a device, as used by `auto`. Pure.
 *
 * Speeds are powers of two, so that the noise of a measurement does not decide. A measured class is remembered, and stays
 * unless another measurement differs from it clearly. A class that could not be remembered is not used: the next process
 * might measure another one, and choose another method. Where nothing was measured, a class is assumed by the kind of
 * device and its threads.
 */

/** A class of speed, and where it comes from. */
export interface Speed {
  /** Billions of operations per second, a power of two. */
  readonly gflops: number
  /** `measured` by tuning, `assumed` for the kind of device, or `given` to openDevice. */
  readonly source: 'measured' | 'assumed' | 'given'
}

/** The speed of a device, as used by `auto`. */
export interface DeviceSpeed {
  /** Assigning points to the nearest of all centres: 2 n k d operations. */
  readonly exact: Speed
  /**
   * Rounds of closures-sharp, as the speed at which the CPU device would have to assign exactly for its rounds to take as
   * long. It is that of `exact` on the CPU device, and far lower on a GPU, which is made for dense products.
   */
  readonly closures: Speed
}

/** A measured class stays unless a new measurement differs by more than this factor, in powers of two. */
const STICKS = 0.75

/** The class of a measurement. `before`: the class remembered so far. */
export function speedClass(gflops: number, before?: number): number {
  const exponent = Math.log2(gflops)
  if (before !== undefined && Math.abs(exponent - Math.log2(before)) < STICKS) return before
  return 2 ** Math.round(exponent)
}

/** One thread with 128-bit SIMD instructions, and one that emulates a GPU. */
const CPU_THREAD = 64
const SOFTWARE_THREAD = 1
/** A modest GPU, which clearly beats most CPUs. */
const HARDWARE = 2048
/** How much slower rounds of closures-sharp are on a GPU than a dense product of as many operations. */
const HARDWARE_CLOSURES = 1 / 8
/** The same where the CPU emulates a GPU: SwiftShader takes three times as long as the CPU device would, lavapipe twice. */
const SOFTWARE_CLOSURES = 1 / 4

/** By the kind of device. `threads`: of the CPU device, or of the machine that emulates a GPU. */
export function assumedSpeed(kind: 'cpu' | 'software' | 'hardware', threads: number): DeviceSpeed {
  const each = kind === 'cpu' ? CPU_THREAD : SOFTWARE_THREAD
  return speedOf(kind === 'hardware' ? HARDWARE : speedClass(each * threads), 'assumed', kind)
}

/** The speed a caller states. */
export function givenSpeed(gflops: number, kind: 'cpu' | 'software' | 'hardware'): DeviceSpeed {
  return speedOf(gflops, 'given', kind)
}

function speedOf(gflops: number, source: Speed['source'], kind: 'cpu' | 'software' | 'hardware'): DeviceSpeed {
  const share = { cpu: 1, software: SOFTWARE_CLOSURES, hardware: HARDWARE_CLOSURES }[kind]
  const closures = gflops * share
  return { exact: { gflops, source }, closures: { gflops: closures, source } }
}

/** What was measured takes the place of what is assumed, not of what was given. */
export function withMeasured(speed: DeviceSpeed, found: { exact?: number; closures?: number }): DeviceSpeed {
  const take = (known: Speed, gflops: number | undefined): Speed =>
    gflops === undefined || known.source === 'given' ? known : { gflops, source: 'measured' }
  const exact = take(speed.exact, found.exact)
  // Without a measurement of its own, closures-sharp is assumed to differ from exact assignment as it usually does.
  const usual = { ...speed.closures, gflops: (speed.closures.gflops / speed.exact.gflops) * exact.gflops }
  return { exact, closures: take(usual.source === 'assumed' ? usual : speed.closures, found.closures) }
}

/**
 * Whether `auto` takes a hardware GPU rather than the CPU device, and why. Only a measured GPU is passed over, and only if
 * the CPU device is in a higher class.
 */
export function compareSpeeds(
  gpu: Speed,
  cpu: Speed,
  name: string,
): { readonly gpu: boolean; readonly reason: string } {
  if (gpu.source === 'assumed') return { gpu: true, reason: 'auto selects a hardware GPU where there is one' }
  const slower = gpu.gflops < cpu.gflops
  const [taken, other] = slower ? [cpu, gpu] : [gpu, cpu]
  const against = slower ? `on the GPU, ${name}` : 'on the CPU device'
  return {
    gpu: !slower,
    reason: `auto selects the ${slower ? 'CPU device' : 'hardware GPU'}: ${speedWords(taken)}, against ${speedWords(other)} ${against}`,
  }
}

/** "about 128 GFLOP/s measured" */
export function speedWords({ gflops, source }: Speed): string {
  const amount = gflops >= 1024 ? `${number(gflops / 1024)} TFLOP/s` : `${number(gflops)} GFLOP/s`
  return `about ${amount} ${source}`
}

function number(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en')
}
