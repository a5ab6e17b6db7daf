/** What goes wrong on a GPU, in sentences. */
import { CentroidalError } from '../../core/errors.ts'

export function closedError(): CentroidalError {
  return new CentroidalError('device-lost', 'The device is closed: open another one with openDevice().')
}

export function refusedError(error: GPUError): CentroidalError {
  const first = error.message.split('\n')[0]
  return new CentroidalError(
    'device-lost',
    `The GPU reported an error: ${first} Try the CPU device, and please report this.`,
  )
}

export function lostError(lost: GPUDeviceLostInfo): CentroidalError {
  const why = lost.message.split('\n')[0] || lost.reason
  return new CentroidalError(
    'device-lost',
    `The GPU device was lost during the run (${why}): run again, resume from the last checkpoint, or use the CPU device.`,
  )
}

export function tooLargeError(label: string, size: number, most: number): CentroidalError {
  return new CentroidalError(
    'out-of-memory',
    `${label} needs ${megabytes(size)} MB and this adapter's largest buffer is ${megabytes(most)} MB: ` +
      'use fewer clusters or dimensions, bytes instead of floats, or the CPU device.',
  )
}

export function memoryError(label: string, size: number, allocated: number): CentroidalError {
  return new CentroidalError(
    'out-of-memory',
    `Out of GPU memory for ${label} (${megabytes(size)} MB, ${megabytes(allocated)} MB in use): set a smaller memoryBytes so that vectors are streamed, a smaller limits.partBytes, or use the CPU device.`,
  )
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6)
}
