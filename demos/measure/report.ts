/** What the measuring page finds, as it is copied and linked to. */
import { check, type Schema } from './schema.ts'

export interface DeviceFacts {
  readonly name: string
  readonly software: boolean
}

export interface CallRow {
  readonly name: string
  /** Medians, in milliseconds; null where it did not run. */
  readonly gpu: number | null
  readonly cpu: number | null
  /** Share of equal labels on both devices, 0 to 1. */
  readonly agreement: number | null
}

export interface KernelRow {
  readonly kernel: string
  readonly work: string
  readonly milliseconds: number
  /** Of the largest call; null where it is too short to be timed. */
  readonly gflops: number | null
  readonly gigabytes: number | null
  /** The larger of the shares of arithmetic and of bandwidth, 0 to 1. */
  readonly share: number | null
  /** The same work on the CPU device. */
  readonly cpu: number | null
}

export interface Report {
  readonly format: 'centroidal-measure-1'
  readonly date: string
  readonly version: string
  readonly browser: string
  /** Null without WebGPU. */
  readonly gpu: DeviceFacts | null
  readonly cpu: DeviceFacts
  readonly sizes: { readonly rows: number; readonly cols: number; readonly k: number }
  /** What calibration kernels reach on the GPU. */
  readonly peak: { readonly gflops: number; readonly gigabytes: number } | null
  /** Nearest of all centres, host memory to host memory, in GFLOP/s. */
  readonly assignment: { readonly gpu: number | null; readonly cpu: number | null }
  readonly calls: readonly CallRow[]
  readonly kernels: readonly KernelRow[]
  /** Calls there was no time for. */
  readonly skipped: readonly string[]
  /** Calls that failed, with the message. */
  readonly failures: readonly string[]
  readonly seconds: number
}

const number: Schema = { type: 'number', minimum: 0 }
const text: Schema = { type: 'string' }
const object = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const list = (items: Schema): Schema => ({ type: 'array', items })
const device = object({ name: text, software: { type: 'boolean' } })

/** JSON Schema of a report. */
export const REPORT_SCHEMA: Schema = object({
  format: { const: 'centroidal-measure-1' },
  date: text,
  version: text,
  browser: text,
  gpu: orNull(device),
  cpu: device,
  sizes: object({ rows: number, cols: number, k: number }),
  peak: orNull(object({ gflops: number, gigabytes: number })),
  assignment: object({ gpu: orNull(number), cpu: orNull(number) }),
  calls: list(object({ name: text, gpu: orNull(number), cpu: orNull(number), agreement: orNull(number) })),
  kernels: list(
    object({
      kernel: text,
      work: text,
      milliseconds: number,
      gflops: orNull(number),
      gigabytes: orNull(number),
      share: orNull(number),
      cpu: orNull(number),
    }),
  ),
  skipped: list(text),
  failures: list(text),
  seconds: number,
})

/** A report from a link: anybody can write one. */
export function parseReport(json: string): Report {
  const value: unknown = JSON.parse(json)
  const wrong = check(value, REPORT_SCHEMA)
  if (wrong) throw new Error(`This link holds no measurement: ${wrong}.`)
  return value as Report
}
