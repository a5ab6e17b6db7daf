/** Colours by place: the hue of a cluster follows the angle at which its centre lies, so that neighbours are alike but distinct. */
import { oklabToBytes } from '../shell/cluster-colours.ts'

/** sRGB bytes [k][3] for centres [k][2] in the unit square. */
export function wheelColours(centers: Float32Array, dark: boolean): Uint8Array {
  const k = centers.length / 2
  const colours = new Uint8Array(k * 3)
  for (let i = 0; i < k; i++) {
    const [x, y] = [centers[2 * i] - 0.5, centers[2 * i + 1] - 0.5]
    const lightness = (dark ? 0.74 : 0.6) + ((i % 3) - 1) * 0.06
    const chroma = 0.09 + 0.08 * Math.min(1, Math.hypot(x, y) / 0.35)
    const hue = Math.atan2(y, x) + 0.6 + ((i % 2) - 0.5) * 0.3
    colours.set(oklabToBytes(lightness, chroma * Math.cos(hue), chroma * Math.sin(hue)), 3 * i)
  }
  return colours
}
