/** What is around every page: header with links and the device, footer. Put in when pages are served or built. */
import { readFileSync } from 'node:fs'
import { headline } from '../front/headline.ts'

export const PAGES = [
  { folder: 'race', name: 'Race', about: 'Clustering methods on the same data: distortion against time.' },
  { folder: 'measure', name: 'Measure', about: 'Every kernel on this GPU and this CPU, and whether they agree.' },
  { folder: 'how', name: 'How it works', about: 'Closures, k-means# and ck-means, step by step, to point at.' },
  { folder: 'playground', name: 'Playground', about: 'Points in the plane: watch centres move, round by round.' },
  { folder: 'colours', name: 'Colours', about: 'A photograph in 2 to 256 colours.' },
  { folder: 'words', name: 'Words', about: '30,000 words on a map: clusters, neighbours, codes. Or your vectors.' },
  { folder: 'photos', name: 'Photos', about: 'Pick a picture or a part of it: its visual words find others.' },
] as const

/** Where the site is published, with a slash at the end. Images of link previews need a full address. */
const PUBLISHED_AT = process.env.CENTROIDAL_SITE ?? ''
const PREVIEW = { width: 1200, height: 630 }

/**
 * What a page may load: scripts, styles, workers, pictures and data from its own site, and the icon, a data: image.
 * WebAssembly is compiled in workers only. A worker has the policy of its own response, not that of the page.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** `path` as Vite gives it: /index.html or /race/index.html. */
export function frame(html: string, path: string): string {
  const folder = path.split('/').at(-2) ?? ''
  const root = folder === '' ? './' : '../'
  const { figure, about } = headline()
  return html
    .replace('<!-- head -->', head(root, folder, html))
    .replace('<!-- header -->', header(folder, root))
    .replace('<!-- footer -->', footer())
    .replace('<!-- code -->', codePanel(''))
    .replace('<!-- code with vectors -->', codePanel(SAVE_VECTORS))
    .replace('<!-- pages -->', pageList(root))
    .replace('<!-- headline figure -->', figure)
    .replace('<!-- headline -->', about)
}

function head(root: string, folder: string, html: string): string {
  const title = html.match(/<title>(.*?)<\/title>/)?.[1] ?? ''
  const description = html.match(/<meta name="description" content="(.*?)"/)?.[1] ?? ''
  const image = `previews/${folder === '' ? 'front' : folder}.png`
  return `<meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${POLICY}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta property="og:type" content="website">
    <meta property="og:site_name" content="centroidal">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="og:image" content="${PUBLISHED_AT || root}${image}">
    <meta property="og:image:width" content="${PREVIEW.width}">
    <meta property="og:image:height" content="${PREVIEW.height}">
    <meta name="twitter:card" content="summary_large_image">
    <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='5' cy='5' r='3' fill='%232a6fdb'/%3E%3Ccircle cx='11' cy='11' r='3' fill='%23d9622b'/%3E%3C/svg%3E">
    <link rel="stylesheet" href="${root}shell/style.css">`
}

function header(folder: string, root: string): string {
  const links = PAGES.map((page) => {
    const here = page.folder === folder ? ' aria-current="page"' : ''
    return `<a href="${root}${page.folder}/index.html"${here}>${page.name}</a>`
  })
  return `<a class="skip" href="#main">To the content</a>
    <header class="top">
      <a class="brand" href="${root}index.html"${folder === '' ? ' aria-current="page"' : ''}>centroidal</a>
      <nav aria-label="Demos">${links.join('\n')}</nav>
      ${folder === '' ? '' : devicePicker()}
    </header>`
}

function devicePicker(): string {
  return `<div class="device" id="device">
        <label>Device
          <select id="device-choice">
            <option value="auto">auto</option>
            <option value="webgpu">WebGPU</option>
            <option value="cpu">CPU</option>
          </select>
        </label>
        <details>
          <summary id="device-name">looking for a device…</summary>
          <div class="device-about">
            <p id="device-reason"></p>
            <p id="device-threads"></p>
            <button type="button" id="device-lose" disabled>Take the GPU away</button>
            <p class="hint">As a driver that crashes would: the page goes on with the CPU.</p>
          </div>
        </details>
      </div>`
}

function footer(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return `<footer class="bottom">
      <p>Everything runs in this page: nothing you load leaves it. centroidal <span id="version">${version}</span>, MIT licence.</p>
    </footer>`
}

const SAVE_VECTORS = '<p class="buttons"><button type="button" id="save-vectors">Save the vectors (.npy)</button></p>'

function codePanel(below: string): string {
  return `<details class="panel" id="code-panel">
        <summary>The same in TypeScript</summary>
        <pre class="code"><code id="code"></code></pre>
        ${below}
      </details>`
}

function pageList(root: string): string {
  return PAGES.map(
    ({ folder, name, about }) =>
      `<li><a href="${root}${folder}/index.html"><img src="${root}previews/${folder}.png" alt="" loading="lazy" width="${PREVIEW.width}" height="${PREVIEW.height}"><strong>${name}</strong><span>${about}</span></a></li>`,
  ).join('\n')
}
