/** What holds for every report. */
import { expect } from 'vitest'

/** Headings of sections and cards, in order. */
export function headings(page: string): string[] {
  return [...page.matchAll(/<h[23]>([^<]*)<\/h[23]>/g)].map((match) => match[1])
}

/** One file that runs nothing and loads nothing, for light, dark and phones, without numbers that are none. */
export function expectWholePage(page: string): void {
  expect(page).toMatch(/^<!doctype html>/)
  expect(page.trimEnd()).toMatch(/<\/html>$/)
  expect(page).not.toMatch(/<script|<link|<iframe|<object|<embed|@import|url\((?!#)|\son\w+=/i)
  for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
    expect(address).toMatch(/^(data:image\/png;base64,|#)/)
  }
  expect(page.replaceAll(/xmlns(:\w+)?="[^"]*"/g, '')).not.toMatch(/https?:/)
  expect(page).toContain('prefers-color-scheme: dark')
  expect(page).toContain('<meta name="viewport"')
  expect(page).not.toMatch(/NaN|undefined|Infinity|\[object/)
  // Every picture says what it is, or is an ornament.
  for (const [svg] of page.matchAll(/<svg[^>]*>/g)) expect(svg).toMatch(/aria-label="[^"]+"|aria-hidden="true"/)
  for (const [image] of page.matchAll(/<img[^>]*>/g)) expect(image).toMatch(/alt="[^"]+"/)
}
