/** Number fields: their `min` and `max` in the page are what goes, for typed numbers and for those in the address. */
import { element } from './dom.ts'

/** The nearest whole number the field takes. */
export function fitField(id: string, value: number): number {
  const { min, max } = element(id, HTMLInputElement)
  return Math.min(Number(max), Math.max(Number(min), Math.round(value)))
}

/** Reads a field. What it does not take is brought into range, and `complain` hears a sentence about it. */
export function readField(id: string, complain: (sentence: string) => void): number {
  const input = element(id, HTMLInputElement)
  const asked = input.value.trim() === '' ? Number.NaN : Number(input.value)
  const value = fitField(id, Number.isFinite(asked) ? asked : Number(input.min))
  if (value !== asked) {
    const label = input.labels?.[0]?.firstChild?.textContent?.trim() ?? id
    const show = (number: number): string => number.toLocaleString('en')
    complain(
      `${label}: whole numbers from ${show(Number(input.min))} to ${show(Number(input.max))}; ${show(value)} is taken.`,
    )
    input.value = String(value)
  }
  return value
}
