/** Colours that tell clusters apart, for any number of them: hues a golden angle apart, three lightnesses in turn. */

const GOLDEN_ANGLE = 2.399963

/** sRGB bytes [k][3]. */
export function clusterColours(k: number, dark: boolean): Uint8Array {
  const colours = new Uint8Array(k * 3)
  for (let i = 0; i < k; i++) {
    const lightness = (dark ? 0.72 : 0.58) + ((i % 3) - 1) * 0.08
    const chroma = 0.15
    const hue = 0.5 + i * GOLDEN_ANGLE
    colours.set(oklabToBytes(lightness, chroma * Math.cos(hue), chroma * Math.sin(hue)), i * 3)
  }
  return colours
}

/** CSS colour of one. */
export function cssColour(colours: Uint8Array, i: number): string {
  return `rgb(${colours[i * 3]} ${colours[i * 3 + 1]} ${colours[i * 3 + 2]})`
}

/** The same as pixels of an ImageData seen as 32-bit words (little-endian, as every browser's machine is). */
export function packedColours(colours: Uint8Array, alpha = 255): Uint32Array {
  return Uint32Array.from(
    { length: colours.length / 3 },
    (_, i) => ((alpha << 24) | (colours[i * 3 + 2] << 16) | (colours[i * 3 + 1] << 8) | colours[i * 3]) >>> 0,
  )
}

/** Oklab (Ottosson 2020), where equal steps look equal. */
export function oklabToBytes(lightness: number, a: number, b: number): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
  return linear.map((value) => {
    const light = Math.min(1, Math.max(0, value))
    return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055))
  })
}

export function prefersDark(): boolean {
  return matchMedia('(prefers-color-scheme: dark)').matches
}

/** Calls back when the person's system changes between light and dark. */
export function onThemeChange(listener: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', listener)
}
