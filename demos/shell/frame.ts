/** What is around every page: header with links and the device, footer. Put in when pages are served or built. */

export const PAGES = [
  { folder: 'playground', name: 'Playground', about: 'Points in the plane: watch centres move, round by round.' },
  { folder: 'colours', name: 'Colours', about: 'A photograph in 2 to 256 colours.' },
  { folder: 'words', name: 'Words and digits', about: 'Your vectors: clusters, neighbours, codes.' },
  { folder: 'race', name: 'Race', about: 'All methods on the same data, from the same start.' },
] as const

/**
 * What a page may load: scripts, styles, workers and data from its own site, and the icon, which is a data: image.
 * WebAssembly is compiled in workers only. A worker has the policy of its own response, not that of the page.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** `path` as Vite gives it: /index.html or /race/index.html. */
export function frame(html: string, path: string): string {
  const folder = path.split('/').at(-2) ?? ''
  const root = folder === '' ? './' : '../'
  return html
    .replace('<!-- head -->', head(root))
    .replace('<!-- header -->', header(folder, root))
    .replace('<!-- footer -->', footer())
    .replace('<!-- pages -->', pageList(root))
}

function head(root: string): string {
  return `<meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${POLICY}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
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
  return `<footer class="bottom">
      <p>Everything runs in this page: nothing you load leaves it.</p>
    </footer>`
}

function pageList(root: string): string {
  return PAGES.map(
    ({ folder, name, about }) =>
      `<li><a href="${root}${folder}/index.html"><strong>${name}</strong><span>${about}</span></a></li>`,
  ).join('\n')
}
