/** Only markup that the program built goes into a page unescaped. */
import { expect, test } from 'vitest'
import { page } from '../../src/cli/report/document.ts'
import { html, Markup } from '../../src/cli/report/markup.ts'

const evil = '<script>alert(1)</script>'

test.each([
  ['text', evil],
  ['an object with text', { text: evil }],
  ['a list of objects with text', [{ text: evil }]],
  ['a list of texts', [evil, [evil]]],
  ['an object like Markup', Object.assign(Object.create(Markup.prototype), { text2: evil })],
  ['an object whose toString is no function', { toString: 1, text: evil }],
  ['null', null],
])('%s is escaped', (_, value) => {
  const piece = value as unknown as string
  for (const { text } of [html`<p>${piece}</p>`, html`<p title="${piece}"></p>`]) {
    expect(text).not.toContain('<script')
    expect(text).not.toMatch(/title="[^"]*"[^>]/)
  }
})

test('markup is inserted unchanged, undefined is left out', () => {
  const items = [html`<li>${'a & b'}</li>`, html`<li>${2}</li>`]
  expect(html`<ul>${items}${undefined}</ul>`.text).toBe('<ul><li>a &#38; b</li><li>2</li></ul>')
})

test('a page allows its own stylesheet and embedded images, and nothing else', () => {
  const text = page(evil, html`<p>x</p>`, '.gallery { --tile: 3px; }')
  const [, policy] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(text) ?? []
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; img-src data:; base-uri 'none'; form-action 'none'$/,
  )
  expect(text).not.toContain('<script')
  expect(text.match(/<style/g)).toHaveLength(1)
})
