/** Where names stand at the ends of curves without lying on each other. */

const HEIGHT = 13
const GAP = 7
const STEPS = [0, 1, -1, 2, -2, 3, -3, 4, -4]

export interface LabelEnd {
  /** Where the curve ends. */
  readonly x: number
  readonly y: number
  /** Of the name. */
  readonly width: number
}

/** The left end of each name's base line: to the right of its curve, or over it where there is no room. */
export function placeLabels(
  ends: readonly LabelEnd[],
  { right, top, bottom }: { readonly right: number; readonly top: number; readonly bottom: number },
): { x: number; y: number }[] {
  const placed: { x: number; y: number; width: number }[] = []
  for (const { x, y, width } of ends) {
    const fits = x + GAP + width <= right
    const left = fits ? x + GAP : Math.max(0, right - width)
    const base = fits ? y + 4 : y - GAP
    const free = (tried: number): boolean =>
      tried >= top + HEIGHT / 2 &&
      tried <= bottom &&
      placed.every(
        (other) => Math.abs(other.y - tried) >= HEIGHT || other.x + other.width < left || other.x > left + width,
      )
    const step = STEPS.find((one) => free(base + one * HEIGHT)) ?? 0
    placed.push({ x: left, y: base + step * HEIGHT, width })
  }
  return placed.map(({ x, y }) => ({ x, y }))
}
