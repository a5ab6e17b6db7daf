/**
 * OKLab: colours as lightness and two axes of hue, so that equal distances look about equally different.
 * Björn Ottosson, A perceptual color space for image processing (2020). Matrices from there; sRGB from IEC 61966-2-1.
 */
import { type Matrix, matrix } from '../../src/index.ts'

const toLinear = Float64Array.from({ length: 256 }, (_, byte) => {
  const value = byte / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
})

function toByte(linear: number): number {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055
  return Math.min(255, Math.max(0, Math.round(255 * value)))
}

/** n x 3 bytes of sRGB as n x 3 floats of OKLab. */
export function toOklab({ data, rows }: Matrix): Matrix {
  const out = new Float32Array(3 * rows)
  for (let i = 0; i < 3 * rows; i += 3) {
    const [r, g, b] = [toLinear[data[i]], toLinear[data[i + 1]], toLinear[data[i + 2]]]
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    out[i] = 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s
    out[i + 1] = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s
    out[i + 2] = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s
  }
  return matrix(out, rows, 3)
}

/** The nearest bytes of sRGB. */
export function fromOklab({ data, rows }: Matrix): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(3 * rows)
  for (let i = 0; i < 3 * rows; i += 3) {
    const l = (data[i] + 0.3963377774 * data[i + 1] + 0.2158037573 * data[i + 2]) ** 3
    const m = (data[i] - 0.1055613458 * data[i + 1] - 0.0638541728 * data[i + 2]) ** 3
    const s = (data[i] - 0.0894841775 * data[i + 1] - 1.291485548 * data[i + 2]) ** 3
    out[i] = toByte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)
    out[i + 1] = toByte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)
    out[i + 2] = toByte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)
  }
  return out
}
