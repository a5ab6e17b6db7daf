/** Small words and figures that several pages say. */
import { showNumber } from './dom.ts'

export function showBytes(count: number): string {
  return count < 1e6 ? `${showNumber(count / 1000)} kB` : `${showNumber(count / 1e6)} MB`
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function plural(count: number, noun: string): string {
  return `${showNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** An error message for an invalid number of clusters; undefined if the number is valid. */
export function tooManyClusters(k: number, rows: number, noun = 'vector'): string | undefined {
  return k > rows ? `Only ${plural(rows, noun)}: choose k up to ${showNumber(rows)}.` : undefined
}

/** Whether something that began then takes so long that people want to hear how far it is. */
export function slow(began: number): boolean {
  return performance.now() - began > 500
}
