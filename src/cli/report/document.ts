/** The document of every report: one file without scripts and external resources. */
import { createHash } from 'node:crypto'
import { cannotWrite } from '../out-folder.ts'
import { replaceFile } from '../replace-file.ts'
import { html, type Markup } from './markup.ts'
import { STYLE } from './style.ts'

/** `moreStyle` is CSS of this program, never data: the content security policy allows it by its hash. */
export function page(title: string, body: Markup, moreStyle = ''): string {
  const style = `${STYLE}${moreStyle}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
${html`<title>${title}</title>`.text}
<style>${style}</style>
</head>
<body>
<main>
${html`<h1>${title}</h1>`.text}
${body.text}
</main>
</body>
</html>
`
}

/** One stylesheet and embedded images are all a report needs; scripts, requests and style attributes are blocked. */
function policy(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`
}

export async function savePage(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text)
  } catch (error) {
    throw cannotWrite(path, error)
  }
}

export function card(title: string, picture: Markup, caption: string): Markup {
  return html`<figure class="card"><h3>${title}</h3>${picture}<figcaption>${caption}</figcaption></figure>`
}

/** Names with their values, side by side; wide ones below. */
export function figures(
  values: readonly (readonly [name: string, value: string])[],
  wide: readonly (readonly [name: string, value: string])[] = [],
): Markup {
  return html`<dl class="figures">${values.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
${wide.map(([name, value]) => html`<div class="wide"><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** A table that can be scrolled sideways on a phone. The first cell of a row names it. */
export function table(heads: readonly string[], rows: readonly (readonly (Markup | string)[])[]): Markup {
  const head = heads.map((name) => html`<th scope="col">${name}`)
  const body = rows.map(
    ([name, ...cells]) => html`<tr><th scope="row">${name}${cells.map((cell) => html`<td>${cell}`)}`,
  )
  return html`<div class="scroll"><table><thead><tr>${head}<tbody>${body}</table></div>`
}

export function howItWasMade(words: string, commandLine: string | undefined): Markup {
  return html`<section><h2>How it was made</h2>
<p class="soft">${words}</p>
${commandLine === undefined ? undefined : html`<code>${commandLine}</code>`}</section>`
}

/** More rounds than a picture has pixels are thinned out evenly; the last stays. */
export function thinned<T>(rounds: readonly T[]): readonly T[] {
  const step = Math.ceil(rounds.length / 1000)
  return rounds.filter((_, i) => i % step === 0 || i === rounds.length - 1)
}
