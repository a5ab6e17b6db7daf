/**
 * The demo pages: `vite demos` serves them, `vite build demos` writes them to dist/demos/site as static files that work
 * from any folder of any server. Every folder with an index.html is a page.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { digitsFile } from './data/digits-file.ts'
import { frame } from './shell/frame.ts'

const here = import.meta.dirname
const pages = ['', ...readdirSync(here)].filter((name) => existsSync(join(here, name, 'index.html')))

// Threads share memory only on cross-origin isolated pages.
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }

/** Header and footer are part of the page as it arrives, so that nothing jumps when scripts start. */
const framed: Plugin = {
  name: 'framed-pages',
  transformIndexHtml: { order: 'pre', handler: (html, { path }) => frame(html, path) },
}

/** Pages are first painted when their script has filled in what the address asks for: no field changes before one's eyes. */
const paintedOnce: Plugin = {
  name: 'painted-once',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
  },
}

/** Comments and indentation of shaders: they are text to a minifier, and a tenth of what a page loads. */
const shortShaders = (): Plugin => ({
  name: 'short-shaders',
  transform(code, id) {
    if (!/\/shaders\/[^/]+\.ts$/.test(id)) return undefined
    return {
      code: code
        .replace(/^[ \t]*\/\/.*$/gm, '')
        .replace(/^[ \t]+/gm, '')
        .replace(/\n+/g, '\n'),
      map: null,
    }
  },
})

export default defineConfig({
  root: here,
  base: './',
  plugins: [framed, paintedOnce, digitsFile()],
  server: { headers, fs: { allow: ['..'] } },
  preview: { headers },
  worker: { format: 'es', plugins: () => [shortShaders()] },
  build: {
    outDir: '../dist/demos/site',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Packing the digits takes its time, and that is known.
      checks: { pluginTimings: false },
      input: {
        ...Object.fromEntries(pages.map((name) => [name || 'front', join(here, name, 'index.html')])),
        'isolation-worker': join(here, 'shell/isolation-worker.ts'),
      },
      output: {
        // A service worker serves the folder it lies in, and has to be found by its name.
        entryFileNames: ({ name }) => (name === 'isolation-worker' ? '[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
})
