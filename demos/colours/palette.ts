/** Centres as colours: bytes, how far the picture is from them, and the texts to copy. */
import type { Matrix } from '../../src/index.ts'

/** Centres among bytes, rounded to bytes. */
export function paletteOf({ data }: Matrix): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(data, (value) => Math.min(255, Math.max(0, Math.round(value))))
}

/** Mean squared difference of a channel, in steps of 256, between the pixels and the colours they get. */
export function meanSquaredError({ data, rows }: Matrix, labels: ArrayLike<number>, palette: Uint8Array): number {
  let sum = 0
  for (let row = 0; row < rows; row++) {
    const from = 3 * labels[row]
    for (let c = 0; c < 3; c++) sum += (data[3 * row + c] - palette[from + c]) ** 2
  }
  return sum / (3 * rows)
}

/** Peak signal-to-noise ratio in decibels; infinite where nothing is lost. */
export function psnr(mse: number): number {
  return mse === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10(255 ** 2 / mse)
}

export function hexOf(palette: Uint8Array, j: number): string {
  const hex = (byte: number): string => byte.toString(16).padStart(2, '0')
  return `#${hex(palette[3 * j])}${hex(palette[3 * j + 1])}${hex(palette[3 * j + 2])}`
}

/** Entries from dark to light: the order they are shown and copied in. */
export function byLightness(palette: Uint8Array): number[] {
  const lightness = (j: number): number => 2126 * palette[3 * j] + 7152 * palette[3 * j + 1] + 722 * palette[3 * j + 2]
  return Array.from({ length: palette.length / 3 }, (_, j) => j).sort((a, b) => lightness(a) - lightness(b) || a - b)
}

export type PaletteFormat = 'hex' | 'css' | 'json'

/** All colours as text: one a line, as custom properties, or as a list. */
export function paletteText(palette: Uint8Array, format: PaletteFormat): string {
  const colours = byLightness(palette).map((j) => hexOf(palette, j))
  if (format === 'json') return JSON.stringify(colours)
  if (format === 'hex') return colours.join('\n')
  return `:root {\n${colours.map((colour, i) => `  --colour-${i + 1}: ${colour};`).join('\n')}\n}`
}

/** How many pixels have each colour. */
export function countsOf(labels: ArrayLike<number>, k: number): Uint32Array {
  const counts = new Uint32Array(k)
  for (let i = 0; i < labels.length; i++) counts[labels[i]]++
  return counts
}
