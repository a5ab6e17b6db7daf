/** The sentence a race ends with. */
export interface RaceCurve {
  readonly name: string
  /** Seconds and distortion after each round. */
  readonly points: readonly (readonly [seconds: number, distortion: number])[]
}

export interface Verdict {
  readonly sentence: string
  /** How many times sooner; undefined where there is nothing to compare or the result was not reached. */
  readonly times: number | undefined
}

/** The method that comes to Lloyd's lowest distortion soonest, against the time Lloyd took. */
export function verdict(curves: readonly RaceCurve[]): Verdict | undefined {
  const lloyd = curves.find(({ name, points }) => name === 'lloyd' && points.length > 0)
  const others = curves.filter(({ name, points }) => name !== 'lloyd' && points.length > 0)
  if (!lloyd || others.length === 0) return undefined
  const target = Math.min(...lloyd.points.map(([, distortion]) => distortion))
  const whole = timeTo(lloyd, target) as number
  const reached = others
    .flatMap((curve) => {
      const seconds = timeTo(curve, target)
      return seconds === undefined ? [] : [{ name: curve.name, times: whole / seconds }]
    })
    .sort((a, b) => b.times - a.times)
  const [best] = reached
  if (!best) {
    return {
      sentence: `No other method reached Lloyd's result of ${whole.toFixed(1)} s within this race.`,
      times: undefined,
    }
  }
  const { name, times } = best
  if (times >= 1.05) return { sentence: `${name} reached Lloyd's result ${showTimes(times)} times sooner.`, times }
  if (times > 0.95) return { sentence: `${name} reached Lloyd's result in the same time.`, times }
  return { sentence: `Lloyd was first: ${name} took ${showTimes(1 / times)} times as long to its result.`, times }
}

function timeTo({ points }: RaceCurve, target: number): number | undefined {
  return points.find(([, distortion]) => distortion <= target)?.[0]
}

/** 6.4, or 12. */
function showTimes(times: number): string {
  return times < 9.95 ? times.toFixed(1) : String(Math.round(times))
}
