/** What a page shows, and what holds for all of them. */

import type { Page } from 'playwright'
import { expect } from 'vitest'

/** Waits until the text of an element matches, and gives it. */
export async function textOf(page: Page, selector: string, pattern: RegExp = /./, timeout = 30_000): Promise<string> {
  const found = page.locator(selector)
  await expect.poll(async () => (await found.textContent()) ?? '', { timeout, interval: 50 }).toMatch(pattern)
  return ((await found.textContent()) ?? '').trim()
}

/** The sum of what jumped without anybody having done something, as browsers measure it. */
export async function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0
        const observer = new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
            if (!entry.hadRecentInput) sum += entry.value
          }
        })
        observer.observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(sum), 100)
      }),
  )
}

/** Controls without a name for screen readers, by id or markup. */
export async function namelessControls(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('button, select, input, [role="img"], canvas:not([role="img"] canvas)')]
      .filter((control) => control.getClientRects().length > 0 && !control.closest('[aria-hidden="true"]'))
      .filter((control) => {
        const labels = 'labels' in control ? [...((control as HTMLInputElement).labels ?? [])] : []
        const name = control.getAttribute('aria-label') ?? labels.map((label) => label.textContent).join('')
        return (name || control.textContent || '').trim() === ''
      })
      .map((control) => control.id || control.outerHTML),
  )
}

/** Presses Tab until the element has the focus; fails after a round through the page. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab')
    if (await page.locator(selector).evaluate((element) => element === document.activeElement)) {
      const outline = await page.locator(selector).evaluate((element) => getComputedStyle(element).outlineStyle)
      expect(outline, 'the focus is seen').not.toBe('none')
      return
    }
  }
  throw new Error(`Tab does not reach ${selector}.`)
}
